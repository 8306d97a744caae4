/* SPDX-License-Identifier: MIT */
/*
 * FILE.d, the folder of a tree's traces (docs/trace-format.md, section 4), which must be ours. Called where a
 * trace is created and where the trace of a predecessor is looked for. Async-signal-safe; errno is clobbered.
 */
#ifndef BP_RECORDER_TREE_FOLDER_H
#define BP_RECORDER_TREE_FOLDER_H

#include <stdbool.h>

/* Opens `<base>.d`, for *at system calls alone; `make`: creates it first if it is missing. -1: it is not there,
 * or it is no folder of the effective user that others cannot write to (a link is never followed). */
int bp_tree_folder_open(const char *base, bool make);

#endif
