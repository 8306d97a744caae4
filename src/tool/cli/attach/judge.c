/* SPDX-License-Identifier: MIT */
/*
 * See judge.h. In the C library only system calls by which threads wait or transfer data are safe,
 * reached by functions of known names, and the functions by which a thread starts. Debian's libc
 * has names for its exported functions alone. So up to two nameless frames are allowed between the
 * system call and a function of the list (pthread_cond_wait reaches its system call so), and as
 * many as a start has at the outer end: of a thread two (clone, start_thread), of the program two
 * inside of _start. Whatever else runs code of the program, such as qsort, exit, pthread_once or
 * the loader for constructors, has a frame that is not on the list. A signal handler may run for as
 * long as its process lives (PostgreSQL 15 forks in one): it is safe where what it interrupted
 * would be.
 *
 * Programs that read lines wait in stdio for as long as nobody writes some. There a thread has the
 * lock of the stream that it reads, which nothing wants that the loader and the recorder do: they
 * use no streams. So stdio's functions that read are safe between a read and the program.
 */
#include "cli/attach/judge.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/attributes.h"

static const long safe_calls[] = { SYS_read, SYS_write, SYS_poll, SYS_select, SYS_pselect6,
	SYS_ppoll, SYS_nanosleep, SYS_clock_nanosleep, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
	SYS_sendto, SYS_sendmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_epoll_wait,
	SYS_epoll_pwait, SYS_futex, SYS_wait4, SYS_waitid, SYS_pread64, SYS_pwrite64, SYS_readv,
	SYS_writev, SYS_sched_yield, SYS_pause, SYS_fsync, SYS_fdatasync, SYS_rt_sigtimedwait,
	SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_io_getevents };

static const long timed_calls[] = { SYS_nanosleep, SYS_clock_nanosleep };
static const long restarted_calls[] = { SYS_epoll_wait, SYS_epoll_pwait, SYS_semop, SYS_semtimedop,
	SYS_rt_sigtimedwait, SYS_msgrcv, SYS_io_getevents };

/* Without underscores and "libc_" in front. */
static const char *const safe_functions[] = { "read", "write", "poll", "select", "pselect", "ppoll",
	"nanosleep", "clock_nanosleep", "usleep", "sleep", "recv", "recvfrom", "recvmsg",
	"recvmmsg", "send", "sendto", "sendmsg", "accept", "accept4", "connect", "epoll_wait",
	"epoll_pwait", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait",
	"pthread_mutex_lock", "pthread_join", "pthread_barrier_wait", "sem_wait", "sem_timedwait",
	"sem_clockwait", "wait", "wait3", "wait4", "waitpid", "waitid", "pread", "pread64",
	"pwrite", "pwrite64", "readv", "writev", "sched_yield", "pause", "fsync", "fdatasync",
	"sigwait", "sigwaitinfo", "sigtimedwait", "semop", "semtimedop", "msgrcv", "syscall" };
static const char *const stream_readers[] = { "IO_file_underflow", "IO_file_read",
	"IO_default_uflow", "underflow", "uflow", "IO_getline", "IO_getline_info", "IO_sgetn",
	"IO_fgets", "fgets", "fgets_unlocked", "IO_getc", "getc", "fgetc", "fgetc_unlocked",
	"getchar", "getchar_unlocked", "getc_unlocked", "getdelim", "getline", "IO_fread", "fread",
	"fread_unlocked", "scanf", "fscanf", "isoc99_scanf", "isoc99_fscanf", "isoc23_scanf",
	"isoc23_fscanf" };
static const char *const starts[] = { "start_main", "start_call_main", "clone", "clone3" };

static bool is_among(long number, const long *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return false;
}

static bool has_name(const char *name, const char *const *list, size_t count)
{
	while (*name == '_')
		name++;
	if (strncmp(name, "libc_", 5) == 0)
		name += 5;
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

static bool is_wait(const struct bp_stack_frame *frame)
{
	return frame->name != NULL &&
	       has_name(frame->name, safe_functions, BP_COUNT(safe_functions));
}

/* How many of the outermost frames are a start; 0: it is none. */
static uint32_t start_length(const struct bp_stack_frame *frames, uint32_t count)
{
	const bool is_main = frames[count - 1].kind != BP_IN_LIBC;
	const uint32_t from = is_main ? 1 : 0;
	uint32_t length = from;
	while (length < from + 2 && length < count &&
		frames[count - 1 - length].kind == BP_IN_LIBC &&
		(frames[count - 1 - length].name == NULL ||
			has_name(frames[count - 1 - length].name, starts, BP_COUNT(starts))))
		length++;
	if (is_main && (frames[count - 1].name == NULL || length == from ||
			       strcmp(frames[count - 1].name, BP_JUDGED_START) != 0))
		return 0;
	return length;
}

/* How many frames behind a read are stdio's, of which no two in a row are nameless and the last has
 * a name; 0: something else called it. */
static uint32_t stream_length(const struct bp_stack_frame *frames, uint32_t count)
{
	uint32_t length = 0, named = 0;
	while (length < count && frames[length].kind == BP_IN_LIBC && length - named < 2) {
		const char *name = frames[length++].name;
		if (name != NULL && !has_name(name, stream_readers, BP_COUNT(stream_readers)))
			return 0;
		if (name != NULL)
			named = length;
	}
	return length == named ? named : 0;
}

/* How many of the innermost frames are a wait in the C library. False: in something else of it. */
static bool wait_length(
	const struct bp_stack_frame *frames, uint32_t count, long system_call, uint32_t *ret_length)
{
	uint32_t nameless = 0;
	*ret_length = 0;
	if (frames[0].kind != BP_IN_LIBC)
		return true;
	if (!is_among(system_call, safe_calls, BP_COUNT(safe_calls)))
		return false;
	while (nameless < 2 && nameless < count && frames[nameless].kind == BP_IN_LIBC &&
		frames[nameless].name == NULL)
		nameless++;
	uint32_t length = nameless;
	while (length < count && frames[length].kind == BP_IN_LIBC && is_wait(&frames[length]))
		length++;
	if (system_call == SYS_read && length == nameless + 1)
		length += stream_length(frames + length, count - length);
	*ret_length = length;
	/* pthread_join waits in a nameless function of its own. */
	return length > nameless || (nameless == 1 && system_call == SYS_futex);
}

/* How many frames from the C library's code that returns from a signal handler on are that and the
 * wait that was interrupted; 0: it is something else. What a wait was doing is not asked: none of
 * these functions has a lock that dlopen wants. */
static uint32_t interruption_length(const struct bp_stack_frame *frames, uint32_t count)
{
	uint32_t length = 1;
	if (count < 2 || frames[0].kind != BP_IN_LIBC || !frames[1].interrupted)
		return 0;
	while (length < 3 && length < count && frames[length].kind == BP_IN_LIBC &&
		frames[length].name == NULL)
		length++;
	const uint32_t nameless = length;
	while (length < count && frames[length].kind == BP_IN_LIBC && is_wait(&frames[length]))
		length++;
	/* The program's own code, or a wait. */
	return frames[1].kind == BP_IN_PROGRAM || length > nameless ? length : 0;
}

static const char *kind_text(enum bp_place_kind kind)
{
	static const char *const texts[] = {
		[BP_IN_PROGRAM] = "in the program",
		[BP_IN_LIBC] = "within the C library",
		[BP_IN_LOADER] = "within the loader",
		[BP_IN_ALLOCATOR] = "within the allocator",
		[BP_IN_UNWINDER] = "within the unwinder of exceptions",
		[BP_IN_RECORDER] = "within the recorder",
		[BP_IN_PYTHON_LOCK] = "where CPython changes its allocators or has pending calls",
		[BP_IN_NOTHING] = "in code that no file holds",
	};
	return texts[kind];
}

bool bp_judge(const struct bp_stack_frame *frames, uint32_t count, bool whole, long system_call,
	const char **ret_reason)
{
	uint32_t waits = 0;
	*ret_reason = "where its stack cannot be followed to its start";
	if (!whole || count < 2)
		return false;
	const uint32_t start = start_length(frames, count);
	if (start == 0)
		return false;
	*ret_reason = kind_text(BP_IN_LIBC);
	if (!wait_length(frames, count - start, system_call, &waits))
		return false;
	for (uint32_t i = waits; i < count - start; i++) {
		const uint32_t interruption = interruption_length(&frames[i], count - start - i);
		if (interruption > 0) {
			i += interruption - 1;
		} else if (frames[i].kind != BP_IN_PROGRAM) {
			*ret_reason = kind_text(frames[i].kind);
			return false;
		}
	}
	return count - start > waits; /* something of the program is between the two */
}

bool bp_judge_is_timed(long system_call)
{
	return is_among(system_call, timed_calls, BP_COUNT(timed_calls));
}

bool bp_judge_must_restart(long system_call)
{
	return is_among(system_call, restarted_calls, BP_COUNT(restarted_calls));
}
