/* SPDX-License-Identifier: MIT */
/*
 * What the hosts of a sample hold on average, as a call tree: every node is a call path, with all
 * that was allocated under it. Intervals are those of the node's own cells, so that those of
 * children do not add up to their parent's. What is small is pruned as in the tree of one recording
 * (aggregation/views/call_tree.h). Called by report/. One thread at a time.
 */
#ifndef BP_DIFF_MEANS_TREE_H
#define BP_DIFF_MEANS_TREE_H

#include "diff/means.h"

struct bp_means_node {
	const char *name;	 /* of its function; NULL: the whole, or pruned branches */
	uint32_t depth;		 /* 0: the whole */
	uint32_t pruned;	 /* so many branches together; 0: it is a function */
	bool goes_on;		 /* the next node is its only child, and has the same samples */
	struct bp_means_row row; /* figures */
};

struct bp_means_tree {
	struct bp_means_node *nodes; /* parents before children, larger children first */
	uint32_t count, capacity;
	uint32_t pruned; /* branches in nodes of pruned ones */
};

/* Of means with `paths`. Children whose estimate is below `share_min` of the whole are pruned.
 * Errors: memory. */
bool bp_means_tree_build(const struct bp_means *means, double share_min,
	struct bp_means_tree *ret_tree, struct bp_error *error);
void bp_means_tree_finish(struct bp_means_tree *tree);

#endif
