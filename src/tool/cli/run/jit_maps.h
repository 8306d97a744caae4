/* SPDX-License-Identifier: MIT */
/*
 * What runtimes wrote about the code that they made, for perf: /tmp/perf-PID.map and jit-PID.dump
 * of each process of a run. It is read when the run is over and kept in FILE.jit, because these
 * files go, or are overwritten by a later process of the same number. `bytepoll live` reads it
 * while the processes run. Not thread-safe.
 */
#ifndef BP_CLI_RUN_JIT_MAPS_H
#define BP_CLI_RUN_JIT_MAPS_H

#include "cli/files/tree.h"
#include "jit/jit_file.h"

/* Adds the names of a process that ended to `names`, if there are any. Files are believed if they
 * are regular files of the owner of the process's trace or of the user who asks, written since the
 * process began and before the next one that had its number here. Times become those of the
 * machine's clock. False: no memory. */
bool bp_jit_maps_add(const struct bp_tree *tree, const struct bp_tree_file *file,
	struct bp_jit_file *names, struct bp_error *error);

/* The same of a process that runs, by the header of its trace and the trace, which is open. */
bool bp_jit_maps_add_running(const struct bp_trace_header *header, int trace,
	struct bp_jit_file *names, struct bp_error *error);

/* Writes the names of all processes of a tree to FILE.jit, if there are any. False: something that
 * was found could not be kept. */
bool bp_jit_maps_keep(const struct bp_tree *tree, struct bp_error *error);

#endif
