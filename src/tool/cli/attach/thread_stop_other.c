/* SPDX-License-Identifier: MIT */
/* See thread_stop.h: on other machines than x86-64 no process is attached to. */
#include "cli/attach/thread_stop.h"

enum bp_thread_stop bp_thread_stop(pid_t tid, uint64_t until_ns)
{
	(void)tid, (void)until_ns;
	return BP_THREAD_ELSEWHERE;
}

void bp_thread_release(pid_t tid)
{
	(void)tid;
}
