/* SPDX-License-Identifier: MIT */
/*
 * See thread_call.h. One thread is stopped at a time (PTRACE_SEIZE, PTRACE_INTERRUPT), judged by
 * its stack (judge.h) and, if it may not make the call, released as it was.
 *
 * If it may, the frame that the kernel writes for a signal is written below its stack's red zone:
 *
 *   registers, signal mask		a ucontext, at whose end the function returns to
 *   the address of __restore_rt	libc's own, which calls rt_sigreturn
 *   the function's first argument	a string
 *   floating point and vectors		what PTRACE_GETREGSET gave, with the marks of a signal frame
 *
 * Then one PTRACE_SETREGS makes it the thread's next step to call the function, and the thread is
 * released. Until that call nothing but unused stack was changed, and after it the thread needs
 * nobody: the function returns into rt_sigreturn, which puts everything back. All signals wait
 * meanwhile, so that no handler and no cancellation meets the half of a dlopen; should we die
 * before that is asked for, the signals are merely let in.
 *
 * A system call that the stop has interrupted is made anew by the frame: its number in rax, and rip
 * at the instruction. The kernel does the same where no frame is written. But some calls fail with
 * EINTR by a mere stop: these are made anew for released threads, too.
 */
#include "cli/attach/thread_call.h"
#include "cli/attach/refusals.h"
#include "cli/attach/thread_stop.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"

#define XSTATE_BYTES_MAX 16384u
#define NT_X86_XSTATE_NUMBER 0x202
#define RED_ZONE_BYTES 128u
#define TEXT_BYTES 512u
/* What must be mapped below the frame: dlopen uses some 20 KiB. */
#define STACK_BYTES_MIN (96u << 10)
#define PAUSE_NS 2000000

/* Where the kernel marks the vector state of a signal frame (asm/sigcontext.h: struct
 * _fpx_sw_bytes). */
#define XSTATE_MARKS_OFFSET 464u
#define XSTATE_MARK 0x46505853u
#define XSTATE_END_MARK 0x46505845u

struct vectors_marks {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes, padding[7];
};

/* What rt_sigreturn reads; asm/ucontext.h and asm/sigcontext.h. */
struct signal_frame {
	uint64_t restorer;
	uint64_t flags, link, stack_start;
	uint32_t stack_flags, stack_padding;
	uint64_t stack_bytes;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
	uint64_t eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2, vectors, reserved[8];
	uint64_t mask;
};

_Static_assert(sizeof(struct signal_frame) == 312, "as the kernel has it");

/* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS. */
#define FRAME_FLAGS 7u
/* No valid flags of an alternate stack: rt_sigreturn then leaves it as it is. */
#define KEEP_ALTERNATE_STACK 0x7fffffffu

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ns(long nanoseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = nanoseconds }, NULL);
}

/* While a thread stands still nobody shall run before us; where that is not allowed they may. */
static void run_first(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
		(void)setpriority(PRIO_PROCESS, 0, -20);
}

/* Is there room below `address`? The main thread's stack grows by itself. */
static bool has_stack(pid_t pid, uint64_t address)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
	FILE *maps = fopen(path, "re");
	while (maps != NULL && !found && getline(&line, &capacity, maps) > 0) {
		unsigned long start = 0, end = 0;
		char permissions[5] = "";
		found = sscanf(line, "%lx-%lx %4s", &start, &end, permissions) == 3 &&
			address > start && address <= end && permissions[1] == 'w' &&
			(address - start >= STACK_BYTES_MIN || strstr(line, "[stack]") != NULL);
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
	return found;
}

/* Is the thread within a sequence that the kernel would have to start over (rseq)? */
static bool is_in_sequence(pid_t pid, pid_t tid)
{
	struct {
		uint64_t pointer;
		uint32_t bytes, signature, flags, padding;
	} configuration = { 0 };
	uint64_t sequence = 0;
	const int get_configuration = 0x420f;
	if (ptrace(get_configuration, tid, sizeof configuration, &configuration) <= 0 ||
		configuration.pointer == 0)
		return false;
	const struct iovec own = { &sequence, sizeof sequence };
	const struct iovec its = { (void *)(configuration.pointer + 8), sizeof sequence };
	return process_vm_readv(pid, &own, 1, &its, 1, 0) != (long)sizeof sequence || sequence != 0;
}

static bool is_safe(const struct bp_target_image *image, pid_t tid,
	const struct user_regs_struct *registers, const char **ret_reason)
{
	static struct bp_target_stack stack;
	bp_target_stack_read(image, tid, &stack);
	if (!bp_judge(
		    stack.frames, stack.count, stack.whole, (long)registers->orig_rax, ret_reason))
		return false;
	*ret_reason = "on a stack with little room";
	if (!has_stack(image->pid, registers->rsp))
		return false;
	*ret_reason = "within a restartable sequence";
	if (is_in_sequence(image->pid, tid))
		return false;
	*ret_reason = "in another program, which it has started in its place";
	return bp_target_image_is_current(image);
}

static uint64_t aligned_down(uint64_t address, uint64_t bytes)
{
	return address & ~(bytes - 1);
}

static struct signal_frame frame_of(
	struct user_regs_struct registers, uint64_t restorer, uint64_t vectors, uint64_t mask)
{
	if (bp_thread_restarts(&registers))
		bp_thread_set_restart(&registers);
	return (struct signal_frame){ .restorer = restorer,
		.flags = FRAME_FLAGS,
		.stack_flags = KEEP_ALTERNATE_STACK,
		.r8 = registers.r8,
		.r9 = registers.r9,
		.r10 = registers.r10,
		.r11 = registers.r11,
		.r12 = registers.r12,
		.r13 = registers.r13,
		.r14 = registers.r14,
		.r15 = registers.r15,
		.rdi = registers.rdi,
		.rsi = registers.rsi,
		.rbp = registers.rbp,
		.rbx = registers.rbx,
		.rdx = registers.rdx,
		.rax = registers.rax,
		.rcx = registers.rcx,
		.rsp = registers.rsp,
		.rip = registers.rip,
		.eflags = registers.eflags,
		.cs = (uint16_t)registers.cs,
		.ss = (uint16_t)registers.ss,
		.vectors = vectors,
		.mask = mask };
}

/* Writes the frame and lets the thread go on into the function; it stays stopped on failure. */
static bool let_call(const struct bp_target_image *image, pid_t tid, uint64_t restorer,
	const struct bp_thread_call *call, const struct user_regs_struct *registers)
{
	static unsigned char vectors[XSTATE_BYTES_MAX + 4];
	char text[TEXT_BYTES] = "";
	struct iovec state = { vectors, XSTATE_BYTES_MAX };
	const uint64_t all_signals = UINT64_MAX;
	uint64_t mask = 0;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE_NUMBER, &state) != 0 ||
		ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) != 0 ||
		state.iov_len < XSTATE_MARKS_OFFSET + sizeof(struct vectors_marks))
		return false;
	struct vectors_marks marks = { .magic = XSTATE_MARK,
		.extended_bytes = (uint32_t)state.iov_len + 4,
		.bytes = (uint32_t)state.iov_len };
	const uint32_t end_mark = XSTATE_END_MARK;
	/* PTRACE_GETREGSET tells the features where the marks will stand. */
	memcpy(&marks.features, vectors + XSTATE_MARKS_OFFSET, sizeof marks.features);
	memcpy(vectors + XSTATE_MARKS_OFFSET, &marks, sizeof marks);
	memcpy(vectors + state.iov_len, &end_mark, sizeof end_mark);
	if (call->text != NULL)
		snprintf(text, sizeof text, "%s", call->text);
	const uint64_t at_vectors =
		aligned_down(registers->rsp - RED_ZONE_BYTES - state.iov_len - 4, 64);
	const uint64_t at_text = at_vectors - TEXT_BYTES;
	const uint64_t at_frame =
		aligned_down(at_text - sizeof(struct signal_frame), 16) - sizeof(uint64_t);
	struct signal_frame frame = frame_of(*registers, restorer, at_vectors, mask);
	const struct iovec own[] = { { vectors, state.iov_len + 4 }, { text, sizeof text },
		{ &frame, sizeof frame } };
	const struct iovec its[] = { { (void *)at_vectors, state.iov_len + 4 },
		{ (void *)at_text, sizeof text }, { (void *)at_frame, sizeof frame } };
	if (process_vm_writev(image->pid, own, 3, its, 3, 0) !=
		(long)(state.iov_len + 4 + sizeof text + sizeof frame))
		return false;
	struct user_regs_struct jump = *registers;
	jump.orig_rax = (unsigned long long)-1;
	jump.rip = call->function;
	jump.rdi = at_text;
	jump.rsi = call->second;
	jump.rsp = at_frame;
	jump.rbp = 0;
	jump.eflags &= ~0x400ull; /* the direction flag is clear in a function */
	if (ptrace(PTRACE_SETREGS, tid, 0, &jump) != 0)
		return false;
	(void)ptrace(PTRACE_SETSIGMASK, tid, sizeof all_signals, &all_signals);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return true;
}

struct search {
	const struct bp_target_image *image;
	const struct bp_thread_call *call;
	uint64_t restorer;
	struct bp_thread_call_result result;
	const char *reason;
	int refused; /* errno */
	pid_t stuck;
};

static bool try_thread(struct search *search, pid_t tid, uint64_t until_ns)
{
	struct user_regs_struct registers;
	const enum bp_thread_stop stop = bp_thread_stop(tid, until_ns);
	const uint64_t since_ns = now_ns();
	if (stop == BP_THREAD_REFUSED)
		search->refused = EPERM;
	if (stop == BP_THREAD_STUCK)
		search->stuck = tid;
	if (stop != BP_THREAD_STOPPED)
		return false;
	const char *reason = "where its registers cannot be read";
	const bool called =
		ptrace(PTRACE_GETREGS, tid, 0, &registers) == 0 &&
		is_safe(search->image, tid, &registers, &reason) &&
		let_call(search->image, tid, search->restorer, search->call, &registers);
	if (!called) {
		bp_thread_release(tid);
		search->reason = reason;
		search->result.unsafe++;
	}
	const uint64_t stood_ns = now_ns() - since_ns;
	if (called)
		search->result.stood_ns = stood_ns;
	if (stood_ns > search->result.longest_ns)
		search->result.longest_ns = stood_ns;
	return called;
}

/* Is the thread in a system call that should not begin anew? */
static bool is_in_timed_call(pid_t pid, pid_t tid)
{
	char path[80];
	long number = -1;
	snprintf(path, sizeof path, "/proc/%ld/task/%ld/syscall", (long)pid, (long)tid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return bp_judge_is_timed(number);
}

/* One round over the threads: those in timed calls are taken only if `timed`. */
static bool try_threads(struct search *search, bool timed, uint64_t until_ns)
{
	char path[64];
	bool called = false;
	snprintf(path, sizeof path, "/proc/%ld/task", (long)search->image->pid);
	DIR *folder = opendir(path);
	if (folder == NULL)
		return false;
	struct dirent *entry;
	while (!called && search->stuck == 0 && now_ns() < until_ns &&
		(entry = readdir(folder)) != NULL) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (tid > 0 && is_in_timed_call(search->image->pid, tid) == timed)
			called = try_thread(search, tid, until_ns);
	}
	closedir(folder);
	return called;
}

static bool say_why(const struct search *search, struct bp_error *error)
{
	const long pid = (long)search->image->pid;
	if (kill(search->image->pid, 0) != 0 && errno == ESRCH)
		return bp_error_set(error, "process %ld has ended", pid);
	if (search->stuck != 0)
		return bp_error_set(error,
			"thread %ld of process %ld does not stop: it waits in the kernel (for a "
			"disk, a network file system), or gets no processor: try again later",
			(long)search->stuck, pid);
	if (search->refused != 0)
		return bp_say_trace_refused(search->image->pid, error);
	return bp_error_set(error,
		"no thread of process %ld stood where it could be attached to; the last one stood "
		"%s: nothing was changed; give it longer with --wait",
		pid, search->reason);
}

bool bp_thread_call(const struct bp_target_image *image, const struct bp_thread_call *call,
	uint64_t until_ns, struct bp_thread_call_result *ret_result, struct bp_error *error)
{
	/* mov $15, %rax; syscall: __restore_rt, which has no exported name. */
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	struct search search = { .image = image,
		.call = call,
		.restorer = bp_target_find_code(image, restorer, sizeof restorer),
		.reason = "in a stop of another kind" };
	bool called = false;
	if (search.restorer == 0 || call->function == 0)
		return bp_error_set(error,
			"the C library of process %ld is not the one on disk, or none that is "
			"known: restart the process after an upgrade",
			(long)image->pid);
	if (call->text != NULL && strlen(call->text) >= TEXT_BYTES)
		return bp_error_set(error, "%s: a path of %u bytes and more is too long",
			call->text, TEXT_BYTES);
	run_first();
	for (uint32_t round = 0; !called; round++) {
		called = try_threads(&search, false, until_ns) ||
			 (round % 4 == 3 && try_threads(&search, true, until_ns));
		if (!called && (now_ns() >= until_ns || search.refused != 0 || search.stuck != 0 ||
				       kill(image->pid, 0) != 0))
			return say_why(&search, error);
		if (!called)
			pause_ns(PAUSE_NS + (long)(now_ns() % PAUSE_NS));
	}
	*ret_result = search.result;
	return true;
}
