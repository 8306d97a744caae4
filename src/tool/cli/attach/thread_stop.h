/* SPDX-License-Identifier: MIT */
/*
 * One thread of another process stopped for a moment, by ptrace. All its other threads go on. Not
 * thread-safe.
 */
#ifndef BP_CLI_ATTACH_THREAD_STOP_H
#define BP_CLI_ATTACH_THREAD_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct user_regs_struct;

enum bp_thread_stop {
	BP_THREAD_STOPPED,
	BP_THREAD_ELSEWHERE, /* gone, or stopped by something else */
	BP_THREAD_REFUSED,
	BP_THREAD_STUCK /* in an uninterruptible wait, or without a processor */
};

/* Waits until `until_ns` of the monotonic clock, and at least one second, ten for a thread that
 * gets no processor. */
enum bp_thread_stop bp_thread_stop(pid_t tid, uint64_t until_ns);
/* Lets it go on as before; a system call that the stop has interrupted is made anew, those too that
 * fail with EINTR by a mere stop. */
void bp_thread_release(pid_t tid);

/* By the registers of a stopped thread: does it go on into the same system call? */
bool bp_thread_restarts(const struct user_regs_struct *registers);
/* Then it goes on with these. */
void bp_thread_set_restart(struct user_regs_struct *registers);

#endif
