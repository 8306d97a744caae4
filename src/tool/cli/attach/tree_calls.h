/* SPDX-License-Identifier: MIT */
/*
 * A tree of processes attached to and detached (--tree): processes that run already, each by a call
 * of its own. Those that they fork later are recorded anyway. Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_TREE_CALLS_H
#define BP_CLI_ATTACH_TREE_CALLS_H

#include "cli/attach/thread_call.h"

/* What was done; `settings`, `file` and `wait_ns` (how long to look for a thread that may)
 * are the caller's. Attaching takes no longer than that for all together, and half a second for
 * each. */
struct bp_tree_calls {
	const char *settings, *file;
	uint64_t wait_ns;
	uint32_t done, failed;		    /* processes */
	struct bp_thread_call_result stops; /* of all threads that were stopped */
};

/* Attaches to the running descendants of `pid`, which has been attached to with the same settings:
 * their traces are in FILE.d. Those that have a trace already are left as they are. Whoever cannot
 * be attached to is named on standard error, with the reason. */
void bp_tree_attach(pid_t pid, struct bp_tree_calls *calls);

/* Detaches what `operand`, a process id or the path of a trace, names: it and its running
 * descendants (of a path: all of FILE and FILE.d). False: there is none that is recorded. Whoever
 * cannot be detached is named on standard error. */
bool bp_tree_detach(const char *operand, struct bp_tree_calls *calls, struct bp_error *error);

#endif
