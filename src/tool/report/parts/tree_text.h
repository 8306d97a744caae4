/* SPDX-License-Identifier: MIT */
/*
 * A call tree as text, of one recording or of the mean of many: figures with their intervals, as
 * bars on one scale too, and the function. A chain of functions with a single callee each is one
 * line (text/chain_text.h): all of them hold the same; small branches are one line that says how
 * many they are and what they hold.
 */
#ifndef BP_REPORT_PARTS_TREE_TEXT_H
#define BP_REPORT_PARTS_TREE_TEXT_H

#include <stdio.h>

#include "base/error.h"
#include "report/report.h"

#define BP_TREE_SHARE_MIN 0.01 /* branches below this share of the whole are pruned */

/* A node; parents come before their children. */
struct bp_tree_item {
	const char *name; /* of its function; "all" of the whole */
	uint32_t depth;	  /* 0: the whole */
	uint32_t pruned;  /* so many small branches; 0: it is a function */
	bool goes_on;	  /* the next node is its only child, and holds the same */
	struct bp_figure bytes;
	uint64_t samples;
};

/* The first `rows` lines of the options, and the legend of the bars; `metric` is what the figures
 * are of, over the names. `ret_lines`: how many lines there are. Errors: memory, before anything is
 * written. */
bool bp_write_tree(const struct bp_tree_item *items, uint32_t count, const char *metric,
	const struct bp_report_options *options, uint32_t *ret_lines, FILE *out,
	struct bp_error *error);

/* What was left out: lines, and `pruned` small branches. */
void bp_write_tree_left_out(
	uint32_t lines, uint32_t pruned, const struct bp_report_options *options, FILE *out);

#endif
