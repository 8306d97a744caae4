/* SPDX-License-Identifier: MIT */
/*
 * The processes of this machine as /proc lists them: who is whose child. A list is of a moment that
 * is over when one reads it. Used to find the processes of a tree. Not thread-safe.
 */
#ifndef BP_CLI_PROCESSES_H
#define BP_CLI_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bp_process {
	pid_t pid, parent;
};

struct bp_processes {
	struct bp_process *items;
	uint32_t count, capacity;
};

bool bp_processes_read(struct bp_processes *ret_processes, struct bp_error *error);
/* Leaves the descendants of `pid`, itself left out. */
void bp_processes_keep_descendants(struct bp_processes *processes, pid_t pid);
void bp_processes_finish(struct bp_processes *processes);

#endif
