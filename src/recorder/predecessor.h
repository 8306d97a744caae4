/* SPDX-License-Identifier: MIT */
/*
 * Whom a new process image follows: the image that this process was before an exec, or, where a process
 * begins with one (vfork, posix_spawn), the parent. Its trace says to which state it was steered (1.8);
 * control.h decides what of that is taken over.
 */
#ifndef BP_RECORDER_PREDECESSOR_H
#define BP_RECORDER_PREDECESSOR_H

#include "recorder/config.h"

/* As its trace has it: header and state page. Not checked, but for what says whose trace it is. */
struct bp_predecessor {
	uint64_t flags, interval_bytes;
	uint64_t control, control_resume, budget_ppm;
};

/* Before the image's own trace is created. False: there is none, as for the first image of all (where one
 * open that fails is all it costs). */
bool bp_predecessor_find(const struct bp_config *config, uint64_t pid_namespace,
	struct bp_predecessor *ret_predecessor);

#endif
