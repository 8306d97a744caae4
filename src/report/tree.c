/* SPDX-License-Identifier: MIT */
/*
 * The call tree from the outermost frame on. A chain of functions with a single callee each stays
 * in one column, so that deep programs do not run off the right edge; small branches are one line
 * that says how many they are and what they hold.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/call_tree.h"
#include "report/escape.h"
#include "report/header.h"
#include "report/report.h"

#define SHARE_MIN 0.01 /* branches below this share of the whole are pruned */
#define INDENT_MAX 40  /* columns of indentation; deeper branches stay there */
#define NAME_BYTES 4096

/* Columns of numbers on the left: bytes, samples. */
struct figures {
	char bytes[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
};

static void write_node(const struct bp_aggregation *aggregation, const struct bp_tree_node *node,
	const struct figures *figures, const unsigned widths[2], unsigned indent,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_frame *frame = &profile->frames.data[node->frame.i];
	const char *function = bp_profile_text(profile, frame->function);
	char text[NAME_BYTES];
	unsigned left = 2 + widths[0] + 2 + widths[1] + 2 + indent;
	unsigned columns = options->columns > left + 16 ? options->columns - left : 16;
	fprintf(out, "  %*s%s  %*s%s  %*s", (int)(widths[0] - bp_text_columns(figures->bytes)), "",
		figures->bytes, (int)(widths[1] - bp_text_columns(figures->samples)), "",
		figures->samples, (int)indent, "");
	if (node->depth == 0) {
		fputs("all\n", out);
	} else if (node->pruned > 0) {
		fprintf(out, "%s%u more, each below %g %%%s\n", bp_style_dim(options), node->pruned,
			100 * SHARE_MIN, bp_style_end(options));
	} else {
		bp_terminal_text(*function != '\0' ? function : "(no name)", options->utf8, columns,
			text, sizeof text);
		fprintf(out, "%s\n", text);
	}
}

static bool write_nodes(const struct bp_aggregation *aggregation, const struct bp_call_tree *tree,
	uint32_t count, const struct bp_report_options *options, FILE *out)
{
	struct figures *figures = calloc((size_t)count + 1, sizeof *figures);
	/* Indentation of the children of the node last seen at each depth. */
	unsigned *indents = calloc((size_t)count + 2, sizeof *indents);
	unsigned widths[2] = { 5, 7 };
	if (figures == NULL || indents == NULL) {
		free(figures);
		free(indents);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct figures *f = &figures[i];
		bp_bytes_figure_text(&tree->nodes[i].row.bytes, bp_style_of(options), f->bytes);
		bp_count_text(tree->nodes[i].row.samples, f->samples);
		if (bp_text_columns(f->bytes) > widths[0])
			widths[0] = bp_text_columns(f->bytes);
		if (bp_text_columns(f->samples) > widths[1])
			widths[1] = bp_text_columns(f->samples);
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_tree_node *node = &tree->nodes[i];
		bool chain = node->children == 1 && !node->has_self;
		unsigned indent =
			indents[node->depth] < INDENT_MAX ? indents[node->depth] : INDENT_MAX;
		write_node(aggregation, node, &figures[i], widths, indent, options, out);
		indents[node->depth + 1] = indents[node->depth] + (chain ? 0 : 2);
	}
	free(figures);
	free(indents);
	return true;
}

static bool write_tree(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_call_tree tree;
	if (!bp_call_tree_build(aggregation, SHARE_MIN, &tree, error))
		return false;
	bp_write_header(aggregation, options, out);
	fprintf(out, "\n  %s%s by call tree, bytes and samples%s\n", bp_style_bold(options),
		bp_metric_names[aggregation->query.metric], bp_style_end(options));
	uint32_t count = tree.count < options->rows ? tree.count : options->rows;
	bool good = write_nodes(aggregation, &tree, count, options, out);
	if (count < tree.count)
		fprintf(out, "\n  %u more lines: --rows %u shows them\n", tree.count - count,
			tree.count);
	if (tree.pruned > 0)
		fprintf(out,
			"\n  %u branches below %g %% of the whole are pruned into the lines that "
			"count them\n",
			tree.pruned, 100 * SHARE_MIN);
	bp_call_tree_finish(&tree);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_tree = { .name = "tree",
	.description = "the call tree from the outermost function on",
	.for_eyes = true,
	.needs_stacks = true,
	.rows = BP_ROWS_ALL,
	.write = write_tree };
