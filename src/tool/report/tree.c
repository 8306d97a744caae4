/* SPDX-License-Identifier: MIT */
/* The call tree from the outermost frame on; how it looks is in parts/tree_text.h. */
#include <stdlib.h>

#include "aggregation/views/call_tree.h"
#include "report/parts/header.h"
#include "report/parts/tree_text.h"
#include "report/report.h"

static const char *function_name(
	const struct bp_aggregation *aggregation, const struct bp_tree_node *node)
{
	const struct bp_profile *profile = aggregation->profile;
	const char *function =
		bp_profile_text(profile, profile->frames.data[node->frame.i].function);
	return node->depth == 0 ? "all" : *function != '\0' ? function : "(no name)";
}

/* NULL: no memory. */
static struct bp_tree_item *items_of(
	const struct bp_aggregation *aggregation, const struct bp_call_tree *tree)
{
	struct bp_tree_item *items = calloc((size_t)tree->count + 1, sizeof *items);
	for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
		const struct bp_tree_node *node = &tree->nodes[i];
		items[i] = (struct bp_tree_item){ .name = function_name(aggregation, node),
			.depth = node->depth,
			.pruned = node->pruned,
			.goes_on = bp_call_tree_chain(tree, i) > 1,
			.bytes = node->row.bytes,
			.samples = node->row.samples };
	}
	return items;
}

static bool write_tree(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	const char *metric =
		bp_metric_word(aggregation->query.metric, aggregation->profile->mapped);
	struct bp_call_tree tree;
	uint32_t lines;
	if (bp_nothing_matches(aggregation)) {
		bp_write_header(aggregation, options, out);
		return true;
	}
	if (!bp_call_tree_build(aggregation, BP_TREE_SHARE_MIN, false, &tree, error))
		return false;
	struct bp_tree_item *items = items_of(aggregation, &tree);
	bool good = items != NULL || bp_error_set(error, "out of memory");
	if (good) {
		bp_write_header(aggregation, options, out);
		good = bp_write_tree(items, tree.count, metric, options, &lines, out, error);
	}
	if (good) {
		bp_write_charged(aggregation, options, out);
		bp_write_tree_left_out(lines, tree.pruned, options, out);
	}
	free(items);
	bp_call_tree_finish(&tree);
	return good;
}

const struct bp_report bp_report_tree = { .name = "tree",
	.for_eyes = true,
	.needs_stacks = true,
	.rows = BP_ROWS_ALL,
	.write = write_tree };
