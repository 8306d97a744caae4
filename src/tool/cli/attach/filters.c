/* SPDX-License-Identifier: MIT */
/*
 * See filters.h. Filters are per thread: a thread has those of the one that made it, and those that
 * it has set itself. So all threads are looked at (/proc/PID/task/TID/status), and the filters of
 * each that has some are read (PTRACE_SECCOMP_GET_FILTER, which takes CAP_SYS_ADMIN outside of all
 * user namespaces, and a reader without a filter of its own). The kernel runs all filters of a
 * thread and takes the strictest answer; here each of them has to permit everything.
 *
 * Two lists of calls are tried. Those by which dlopen and the recorder's start make their way must
 * succeed, or the process could not be attached to anyway: an error forbids as well as a kill.
 * Those of later (base/recorder_calls.h) may fail, but must not kill.
 */
#include "cli/attach/filters.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/attributes.h"
#include "base/recorder_calls.h"
#include "base/seccomp_filter.h"
#include "cli/attach/thread_stop.h"
#include "cli/process/processes.h"

#define GET_FILTER 0x420c /* PTRACE_SECCOMP_GET_FILTER of Linux 4.4 */
#define FILTERS_MAX 64u
#define OF_FILE (MAP_PRIVATE | MAP_DENYWRITE)
#define FIXED (MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED)

/* In the order in which they are made; a test holds docs/recorder.md to this list. */
static const struct loading_call {
	uint32_t number;
	char name[20];
	bool needed; /* an error forbids, too */
	uint64_t arguments[6];
} loading_calls[] = {
	/* dlopen */
	{ BP_CALL(openat), true, { BP_CALL_WHENCE, BP_CALL_ADDRESS, O_RDONLY | O_CLOEXEC } },
	{ BP_CALL(read), true, { BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS, 832 } },
	{ BP_CALL(newfstatat), true,
		{ BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS, BP_CALL_ADDRESS, AT_EMPTY_PATH } },
	{ BP_CALL(mmap), true, { 0, 1 << 20, PROT_READ, OF_FILE, BP_CALL_DESCRIPTOR, 0 } },
	{ BP_CALL(mmap), true,
		{ BP_CALL_ADDRESS, 1 << 19, PROT_READ | PROT_EXEC, FIXED, BP_CALL_DESCRIPTOR,
			4096 } },
	{ BP_CALL(mmap), true,
		{ BP_CALL_ADDRESS, 8192, BP_CALL_READ_WRITE, FIXED, BP_CALL_DESCRIPTOR, 4096 } },
	{ BP_CALL(mmap), true,
		{ BP_CALL_ADDRESS, 65536, BP_CALL_READ_WRITE, BP_CALL_ANONYMOUS | MAP_FIXED,
			UINT64_MAX, 0 } },
	{ BP_CALL(close), true, { BP_CALL_DESCRIPTOR } },
	{ BP_CALL(mprotect), true, { BP_CALL_ADDRESS, 8192, PROT_READ } },
	{ BP_CALL(munmap), true, { BP_CALL_ADDRESS, 8192 } },
	{ BP_CALL(brk), false, { 0 } },
	{ BP_CALL(futex), true, { BP_CALL_ADDRESS, FUTEX_WAKE_PRIVATE, 1 } },
	/* the recorder's start */
	{ BP_CALL(mmap), true,
		{ 0, 1 << 20, BP_CALL_READ_WRITE, BP_CALL_ANONYMOUS, UINT64_MAX, 0 } },
	{ BP_CALL(mmap), false,
		{ BP_CALL_ADDRESS, 4096, BP_CALL_READ_WRITE,
			BP_CALL_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, UINT64_MAX, 0 } },
	{ BP_CALL(mprotect), true, { BP_CALL_ADDRESS, 4096, BP_CALL_READ_WRITE } },
	{ BP_CALL(mprotect), false, { BP_CALL_ADDRESS, 4096, BP_CALL_READ_WRITE | PROT_EXEC } },
	{ BP_CALL(mprotect), false, { BP_CALL_ADDRESS, 4096, PROT_READ | PROT_EXEC } },
	{ BP_CALL(madvise), false, { BP_CALL_ADDRESS, 4096, MADV_WIPEONFORK } },
	{ BP_CALL(openat), true,
		{ BP_CALL_WHENCE, BP_CALL_ADDRESS,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600 } },
	{ BP_CALL(ftruncate), true, { BP_CALL_DESCRIPTOR, BP_CALL_CHUNK_BYTES } },
	{ BP_CALL(mmap), true,
		{ 0, 1 << 26, BP_CALL_READ_WRITE, MAP_SHARED, BP_CALL_DESCRIPTOR, 0 } },
	{ BP_CALL(prlimit64), false, { 0, RLIMIT_AS, 0, BP_CALL_ADDRESS } },
	{ BP_CALL(fallocate), false, { BP_CALL_DESCRIPTOR, 0, 0, BP_CALL_CHUNK_BYTES } },
	{ BP_CALL(pwrite64), false, { BP_CALL_DESCRIPTOR, BP_CALL_ADDRESS, 1, 0 } },
	{ BP_CALL(getcwd), false, { BP_CALL_ADDRESS, 4096 } },
	/* back to where the thread was */
	{ BP_CALL(rt_sigreturn), true, { 0 } },
};

static bool is_permitted(uint32_t action, bool needed)
{
	if (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG)
		return true;
	/* What a tracer or a supervisor would say is not known. */
	return !needed && action == SECCOMP_RET_ERRNO;
}

/* Returns the name of a call that the filter forbids; NULL: none. */
static const char *find_forbidden(const struct sock_filter *program, size_t count)
{
	for (size_t i = 0; i < BP_COUNT(loading_calls); i++) {
		const struct loading_call *call = &loading_calls[i];
		if (!is_permitted(bp_filter_action(
					  program, count, EM_X86_64, call->number, call->arguments),
			    call->needed))
			return call->name;
	}
	for (size_t i = 0; i < BP_COUNT(bp_recorder_calls); i++) {
		const struct bp_recorder_call *call = &bp_recorder_calls[i];
		if (!is_permitted(bp_filter_action(
					  program, count, EM_X86_64, call->number, call->arguments),
			    false))
			return call->name;
	}
	return NULL;
}

static bool not_known(pid_t pid, struct bp_error *error)
{
	return bp_error_set(error,
		"process %ld has given up system calls (seccomp), and one of ours could end it: "
		"start it with bytepoll run%s",
		(long)pid,
		errno == EACCES ? ", or attach as root, who may read what its filter forbids" : "");
}

/* All filters of a thread that is stopped. */
static bool permits(pid_t pid, pid_t tid, struct bp_error *error)
{
	static struct sock_filter program[BP_FILTER_MAX];
	for (unsigned i = 0; i < FILTERS_MAX; i++) {
		const long count = ptrace(GET_FILTER, tid, (void *)(uintptr_t)i, NULL);
		if (count < 0 && errno == ENOENT && i > 0)
			return true;
		if (count <= 0 || count > (long)BP_FILTER_MAX ||
			ptrace(GET_FILTER, tid, (void *)(uintptr_t)i, program) != count)
			return not_known(pid, error);
		const char *forbidden = find_forbidden(program, (size_t)count);
		if (forbidden != NULL)
			return bp_error_set(error,
				"process %ld has given up the system call %s (seccomp), which the "
				"recorder makes: start it with bytepoll run",
				(long)pid, forbidden);
	}
	errno = E2BIG;
	return not_known(pid, error);
}

static bool ask_thread(pid_t pid, pid_t tid, struct bp_error *error)
{
	const enum bp_thread_stop stop = bp_thread_stop(tid, 0);
	if (stop != BP_THREAD_STOPPED) {
		errno = ESRCH;
		return not_known(pid, error);
	}
	const bool good = permits(pid, tid, error);
	bp_thread_release(tid);
	return good;
}

/* Seccomp's mode of a thread: 0 none, 1 strict, 2 filters; 0: it has gone. */
static uint64_t mode_of(pid_t pid, pid_t tid)
{
	static char text[BP_PROCESS_STATUS_BYTES];
	char path[64];
	uint64_t mode = 0;
	snprintf(path, sizeof path, "/proc/%ld/task/%ld/status", (long)pid, (long)tid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 0;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	(void)bp_process_status_numbers(text, "Seccomp", &mode, 1);
	return mode;
}

bool bp_filters_permit(pid_t pid, struct bp_error *error)
{
	char path[64];
	bool good = true;
	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder != NULL && good && (entry = readdir(folder)) != NULL) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		const uint64_t mode = tid > 0 ? mode_of(pid, tid) : 0;
		errno = 0;
		if (mode != 0)
			good = mode == 2 ? ask_thread(pid, tid, error) : not_known(pid, error);
	}
	if (folder != NULL)
		closedir(folder);
	return good;
}
