/* SPDX-License-Identifier: MIT */
/*
 * The call tree of an aggregation by stack: every node is the set of stacks that begin, from the
 * outermost frame on, with the same functions, or where callers are asked for, from the innermost
 * one on. A stack ends at the frame that it is attributed to: functions that do nothing but
 * allocate are left out, as they are in tables. Figures are estimated for each node from its own
 * sums (intervals of children do not add up to their parent's). What is small is pruned: the small
 * children of a node are one node together, so that nothing is left out silently.
 * Called by report/tree.c and cli/live.
 */
#ifndef BP_AGGREGATION_VIEWS_CALL_TREE_H
#define BP_AGGREGATION_VIEWS_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/aggregate.h"
#include "base/error.h"

struct bp_tree_node {
	struct bp_frame_id frame; /* its function; 0: the root, or pruned children */
	uint32_t depth;		  /* 0: the root */
	uint32_t children;	  /* nodes right below, a node of pruned ones included */
	uint32_t pruned;   /* number of functions this node stands for; 0: it is one itself */
	bool has_self;	   /* some stack ends here: this function allocates itself */
	struct bp_row row; /* figures; name and frames are not set */
};

struct bp_call_tree {
	struct bp_tree_node *nodes; /* parents before children, larger children first */
	uint32_t count, capacity;
	uint32_t pruned; /* functions in nodes of pruned ones */
};

/* `aggregation` must be by stack. Children whose estimate is below `share_min` of the whole are
 * pruned. `callers`: the tree begins at the function that is charged and goes on to who called it,
 * so that `has_self` says that nothing calls it. */
bool bp_call_tree_build(const struct bp_aggregation *aggregation, double share_min, bool callers,
	struct bp_call_tree *ret_tree, struct bp_error *error);

/* How many nodes from number `i` on are a chain: each has the next one as its only child, and all
 * stacks of it go on there, so that their figures are the same. 1 where there is no chain. */
uint32_t bp_call_tree_chain(const struct bp_call_tree *tree, uint32_t i);
void bp_call_tree_finish(struct bp_call_tree *tree);

#endif
