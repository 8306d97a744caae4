/* SPDX-License-Identifier: MIT */
/*
 * A process that is being profiled, and its trace opened from outside: found by the file that the
 * process has mapped, so that it does not matter where the trace was written, under which name, in
 * which container. Used by `control` and `doctor`. Nothing is sent to the process and nothing of it
 * stops.
 *
 * The trace is opened for reading, or for steering too: then by its owner or root only, and only
 * while its process runs. Not thread-safe.
 */
#ifndef BP_CLI_TRACED_TRACED_H
#define BP_CLI_TRACED_TRACED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/format.h"

struct bp_traced {
	pid_t pid;	     /* in our own pid namespace */
	char path[PATH_MAX]; /* by which the trace can be opened here */
	char program[512];   /* of the header, cut */
	char name[256];	     /* what it was started as (process_name.h), cut */
	bool own_namespace;  /* thread ids in the trace are those of our /proc */
	int descriptor;	     /* of the trace */
	struct bp_trace_header header;
	struct bp_trace_state *state; /* mapped: changes while one looks at it */
};

/* Opens the trace of the process `pid`. Errors say what is in the way: no such process, another
 * user's, not profiled, ended, older than control, unprofiled. */
bool bp_traced_open(pid_t pid, bool steer, struct bp_traced *ret_traced, struct bp_error *error);
/* The same for the trace at `path`, whoever has it mapped. */
bool bp_traced_open_file(
	const char *path, bool steer, struct bp_traced *ret_traced, struct bp_error *error);
void bp_traced_close(struct bp_traced *traced); /* safe on zeroed memory */

/* Has the file been cut off, or written over, behind the back of its process? What `state` says
 * then means nothing (reading it is safe all the same). */
bool bp_traced_is_cut(const struct bp_traced *traced);

/* Does its process still live, and with this trace? */
bool bp_traced_runs(const struct bp_traced *traced);

/* A decimal number as a process id; 0: it is none. */
pid_t bp_traced_pid(const char *operand);

/* A set of traced processes. */
struct bp_traced_list {
	struct bp_traced *items;
	uint32_t count, capacity;
};

/* `operand`: a process id, or the path of a trace. With `tree` its running descendants that have a
 * trace, or all files of FILE.d that a process has mapped, are in the list too; of these a trace
 * that cannot be opened is left out. With `tree` the process itself need not be profiled, nor run,
 * if one of the others is. */
bool bp_traced_list_open(const char *operand, bool tree, bool steer,
	struct bp_traced_list *ret_list, struct bp_error *error);
void bp_traced_list_close(struct bp_traced_list *list);

#endif
