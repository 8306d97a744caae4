/* SPDX-License-Identifier: MIT */
/* See thread_stop.h. By PTRACE_SEIZE and PTRACE_INTERRUPT, which send no signal. */
#include "cli/attach/thread_stop.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/attach/judge.h"
#include "cli/process/processes.h"

/* So long a thread may take to stop at least; a runnable one, which gets no processor, the longer
 * time. */
#define STOP_LIMIT_NS 1000000000u
#define RUNNABLE_LIMIT_NS 10000000000u
#define PAUSE_NS 20000

/* The kernel's errors inside a system call that a signal interrupts. */
enum {
	RESTART_SYS = -512,
	RESTART_NO_INTR = -513,
	RESTART_NO_HANDLER = -514,
	RESTART_BLOCK = -516
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_runnable(pid_t tid)
{
	struct bp_process_stat stat;
	return bp_process_stat_read(tid, &stat) && stat.state == 'R';
}

/* Waits for the stop; a thread in an uninterruptible wait cannot. (On a machine with too much to do
 * such waits take seconds, too: for a disk, or for a lock whose owner gets no processor.) */
static bool wait_for_stop(pid_t tid, uint64_t until_ns, int *ret_status)
{
	const uint64_t since_ns = now_ns();
	for (;;) {
		const pid_t found = waitpid(tid, ret_status, __WALL | WNOHANG);
		if (found == tid || found < 0)
			return found == tid;
		const uint64_t now = now_ns(), waited_ns = now - since_ns;
		if (now >= until_ns && (waited_ns >= RUNNABLE_LIMIT_NS ||
					       (waited_ns >= STOP_LIMIT_NS && !is_runnable(tid))))
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
}

enum bp_thread_stop bp_thread_stop(pid_t tid, uint64_t until_ns)
{
	int status;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == EPERM ? BP_THREAD_REFUSED : BP_THREAD_ELSEWHERE;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
		return BP_THREAD_ELSEWHERE;
	if (!wait_for_stop(tid, until_ns, &status))
		return BP_THREAD_STUCK;
	if (!WIFSTOPPED(status))
		return BP_THREAD_ELSEWHERE;
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
		return BP_THREAD_STOPPED;
	/* A signal was quicker: it is delivered as it would have been. */
	ptrace(PTRACE_DETACH, tid, 0, status >> 16 != 0 ? 0 : WSTOPSIG(status));
	return BP_THREAD_ELSEWHERE;
}

/* Does the thread go on into the same system call? Then with these registers. */
bool bp_thread_restarts(const struct user_regs_struct *registers)
{
	const long result = (long)registers->rax, number = (long)registers->orig_rax;
	if (number < 0)
		return false;
	return result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HANDLER ||
	       result == RESTART_BLOCK || (result == -EINTR && bp_judge_must_restart(number));
}

void bp_thread_set_restart(struct user_regs_struct *registers)
{
	registers->rax = registers->orig_rax;
	registers->rip -= 2; /* syscall */
	registers->orig_rax = (unsigned long long)-1;
}

void bp_thread_release(pid_t tid)
{
	struct user_regs_struct registers;
	if (ptrace(PTRACE_GETREGS, tid, 0, &registers) == 0 && (long)registers.rax == -EINTR &&
		bp_thread_restarts(&registers)) {
		bp_thread_set_restart(&registers);
		ptrace(PTRACE_SETREGS, tid, 0, &registers);
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
}
