/* SPDX-License-Identifier: MIT */
/*
 * FILE.d, the folder of a tree's traces (docs/trace-format.md, section 4), which must belong to the
 * effective user. Called where a trace is created and where the trace of a predecessor is looked
 * for. Async-signal-safe; changes errno.
 */
#ifndef BP_START_TREE_FOLDER_H
#define BP_START_TREE_FOLDER_H

#include <stdbool.h>

/* Opens `<base>.d`, for *at system calls alone. `make`: creates it first if it is missing. Returns
 * -1 if it is not there, or is not a folder of the effective user to which nobody else may write. A
 * link is never followed. */
int bp_tree_folder_open(const char *base, bool make);

#endif
