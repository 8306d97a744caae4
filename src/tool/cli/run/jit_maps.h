/* SPDX-License-Identifier: MIT */
/*
 * What runtimes wrote about the code that they made, for perf: /tmp/perf-PID.map and jit-PID.dump
 * of each process of a run. It is read when the run is over and kept in FILE.jit, because these
 * files go, or are overwritten by a later process of the same number.
 */
#ifndef BP_CLI_RUN_JIT_MAPS_H
#define BP_CLI_RUN_JIT_MAPS_H

#include "cli/files/tree.h"

/* Writes FILE.jit, if there is anything to write. Files are believed if they are regular files of
 * the owner of the process's trace or of the user who asks, written since the process began and
 * before the next one that had its number here. False: something that was found could not be
 * kept. */
bool bp_jit_maps_keep(const struct bp_tree *tree, struct bp_error *error);

#endif
