/* SPDX-License-Identifier: MIT */
/*
 * The predecessor of a new process image: the image that this process had before an exec, or the
 * parent, where a process begins with an exec (vfork, posix_spawn). The predecessor's trace says in
 * which state control has put it
 * (docs/trace-format.md 1.8); control.h decides what the new image takes over.
 */
#ifndef BP_START_PREDECESSOR_H
#define BP_START_PREDECESSOR_H

#include "start/config.h"

/* Fields of the header and the state page of its trace. They are not checked, except those that say
 * whose trace it is. */
struct bp_predecessor {
	uint64_t flags, interval_bytes;
	uint64_t control, control_resume, budget_ppm;
};

/* Called before the image's own trace is created. False: there is no predecessor, as for the first
 * image of all (where this costs one open that fails). */
bool bp_predecessor_find(const struct bp_config *config, uint64_t pid_namespace,
	struct bp_predecessor *ret_predecessor);

#endif
