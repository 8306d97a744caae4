/* SPDX-License-Identifier: MIT */
/*
 * Snapshots under the names that a run gives its files: OUT, and for a tree OUT.d beside it,
 * readable by every command as the run itself will be. Everything is written under other names
 * first, so that OUT is there whole or not at all. Not thread-safe.
 */
#ifndef BP_CLI_CONTROL_SNAPSHOT_TREE_H
#define BP_CLI_CONTROL_SNAPSHOT_TREE_H

#include "cli/control/snapshot.h"

struct bp_snapshot_sums {
	struct bp_snapshot whole; /* of all running processes */
	uint32_t processes;	  /* running ones */
	uint32_t ended;		  /* copied as they were left */
	uint32_t removed;	  /* ended without samples, and their files removed meanwhile */
};

/* `list`: the processes, at least one; the first one's copy is OUT, unless `root`, the path of
 * FILE, is given: then that of FILE is, and processes that have ended are copied too (root may be
 * NULL). `force`: what was at OUT is removed. INT, TERM and HUP, unless ignored, are let in after
 * nothing is left of the copy. */
bool bp_snapshot_tree_write(const struct bp_traced_list *list, const char *root, const char *out,
	bool force, struct bp_snapshot_sums *ret_sums, struct bp_error *error);

#endif
