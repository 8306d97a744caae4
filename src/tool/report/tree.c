/* SPDX-License-Identifier: MIT */
/*
 * The call tree from the outermost frame on: figures with their intervals, as bars on one scale
 * too, and the function. A chain of functions with a single callee each stays in one column, so
 * that deep programs do not run off the right edge; small branches are one line that says how many
 * they are and what they hold. Where the terminal is narrow names are shortened first, then samples
 * go, then bars.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/call_tree.h"
#include "report/bar.h"
#include "report/header.h"
#include "report/report.h"
#include "text/escape.h"

#define SHARE_MIN 0.01	    /* branches below this share of the whole are pruned */
#define INDENT_MAX 40	    /* columns of indentation; deeper branches stay there */
#define NAME_COLUMNS_MIN 16 /* behind any indentation */
#define NAMES_KEPT 34	    /* columns of names and their indentation that no bar takes away */
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 40
#define NAME_BYTES 4096
#define HEADING " by call tree" /* behind the metric, over the names */

/* A line as text. */
struct line {
	char bytes[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	unsigned indent;
};

struct layout {
	unsigned bytes, bar, samples, indent_max;
	unsigned names;	    /* columns left for names and their indentation */
	double scale_bytes; /* at the right end of the bars */
};

static const char *function_name(
	const struct bp_aggregation *aggregation, const struct bp_tree_node *node)
{
	const struct bp_profile *profile = aggregation->profile;
	const char *function =
		bp_profile_text(profile, profile->frames.data[node->frame.i].function);
	return node->depth == 0 ? "all" : *function != '\0' ? function : "(no name)";
}

static void write_name(const struct bp_aggregation *aggregation, const struct bp_tree_node *node,
	unsigned columns, const struct bp_report_options *options, FILE *out)
{
	char text[NAME_BYTES];
	if (node->pruned > 0) {
		snprintf(text, sizeof text, "%u more, %sbelow %g %%", node->pruned,
			node->pruned == 1 ? "" : "each ", 100 * SHARE_MIN);
		if (bp_text_columns(text) > columns)
			snprintf(text, sizeof text, "+%u below %g %%", node->pruned,
				100 * SHARE_MIN);
		fprintf(out, "%s%s%s\n", bp_style_dim(options), text, bp_style_end(options));
		return;
	}
	bp_report_name(options, function_name(aggregation, node), columns, text, sizeof text);
	fprintf(out, "%s\n", text);
}

static void write_line(const struct bp_aggregation *aggregation, const struct bp_tree_node *node,
	const struct line *line, const struct layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	const unsigned indent =
		line->indent < layout->indent_max ? line->indent : layout->indent_max;
	const unsigned left = layout->names > indent ? layout->names - indent : 0;
	fprintf(out, "  %*s%s", (int)(layout->bytes - bp_text_columns(line->bytes)), "",
		line->bytes);
	if (layout->bar > 0) {
		fputs("  ", out);
		bp_write_bar(
			&node->row.bytes.interval, layout->scale_bytes, layout->bar, options, out);
	}
	if (layout->samples > 0)
		fprintf(out, "  %*s%s", (int)(layout->samples - bp_text_columns(line->samples)), "",
			line->samples);
	fprintf(out, "  %*s", (int)indent, "");
	write_name(
		aggregation, node, left > NAME_COLUMNS_MIN ? left : NAME_COLUMNS_MIN, options, out);
}

/* The scale of the bars: 0 at the left end, the largest limit at the right. */
static void write_heading(const struct bp_aggregation *aggregation, const struct layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	char right[BP_QUANTITY_BYTES];
	bp_bytes_text((uint64_t)layout->scale_bytes, bp_style_of(options), right);
	fprintf(out, "\n  %s%*s", bp_style_bold(options), (int)layout->bytes, "bytes");
	if (layout->bar > bp_text_columns(right) + 2)
		fprintf(out, "  0%*s", (int)(layout->bar - 1), right);
	else if (layout->bar > 0)
		fprintf(out, "%*s", (int)(layout->bar + 2), "");
	if (layout->samples > 0)
		fprintf(out, "  %*s", (int)layout->samples, "samples");
	fprintf(out, "  %s" HEADING "%s\n", bp_metric_names[aggregation->query.metric],
		bp_style_end(options));
}

/* Widths that every line fits into. */
static struct layout widths_of(const struct bp_aggregation *aggregation,
	const struct bp_call_tree *tree, const struct line *lines, uint32_t count,
	const struct bp_report_options *options)
{
	struct layout layout = { .bytes = 5, .samples = 7, .indent_max = INDENT_MAX };
	layout.names =
		(unsigned)(strlen(bp_metric_names[aggregation->query.metric]) + strlen(HEADING));
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_tree_node *node = &tree->nodes[i];
		const unsigned widths[3] = { bp_text_columns(lines[i].bytes),
			bp_text_columns(lines[i].samples),
			(lines[i].indent < INDENT_MAX ? lines[i].indent : INDENT_MAX) +
				(node->pruned > 0 ? 32
						  : bp_terminal_columns(
							    function_name(aggregation, node),
							    options->utf8)) };
		layout.bytes = widths[0] > layout.bytes ? widths[0] : layout.bytes;
		layout.samples = widths[1] > layout.samples ? widths[1] : layout.samples;
		layout.names = widths[2] > layout.names ? widths[2] : layout.names;
		if (isfinite(node->row.bytes.interval.high))
			layout.scale_bytes =
				fmax(layout.scale_bytes, node->row.bytes.interval.high);
	}
	return layout;
}

static struct layout lay_out(const struct bp_aggregation *aggregation,
	const struct bp_call_tree *tree, const struct line *lines, uint32_t count,
	const struct bp_report_options *options)
{
	const struct layout whole = widths_of(aggregation, tree, lines, count, options);
	const unsigned wanted = whole.names < NAMES_KEPT ? whole.names : NAMES_KEPT;
	const unsigned columns = options->columns, least = wanted + 2 + BAR_COLUMNS_MIN;
	struct layout layout = whole;
	unsigned numbers = 2 + layout.bytes + 2 + layout.samples + 2;
	if (numbers + least > columns && numbers + least - layout.samples - 2 <= columns) {
		numbers -= layout.samples + 2;
		layout.samples = 0;
	}
	const unsigned room = columns > numbers ? columns - numbers : 0;
	if (room >= whole.names + 2 + BAR_COLUMNS_MIN)
		layout.bar = room - whole.names - 2;
	else if (room >= least)
		layout.bar = BAR_COLUMNS_MIN + (room - least) / 4;
	if (layout.bar > BAR_COLUMNS_MAX)
		layout.bar = BAR_COLUMNS_MAX;
	layout.names = room - (layout.bar > 0 ? layout.bar + 2 : 0);
	/* Half of a narrow terminal is for names, and never less than they need. */
	if (layout.names < whole.names && layout.indent_max > layout.names / 2)
		layout.indent_max = layout.names / 2;
	const unsigned spare =
		layout.names > NAME_COLUMNS_MIN ? layout.names - NAME_COLUMNS_MIN : 0;
	if (layout.indent_max > spare)
		layout.indent_max = spare;
	return layout;
}

/* Returns whether there was room for bars in `*ret_bars`. */
static bool write_nodes(const struct bp_aggregation *aggregation, const struct bp_call_tree *tree,
	uint32_t count, const struct bp_report_options *options, bool *ret_bars, FILE *out)
{
	struct line *lines = calloc((size_t)count + 1, sizeof *lines);
	/* Indentation of the children of the node last seen at each depth. */
	unsigned *indents = calloc((size_t)count + 2, sizeof *indents);
	if (lines == NULL || indents == NULL) {
		free(lines);
		free(indents);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_tree_node *node = &tree->nodes[i];
		const bool chain = node->children == 1 && !node->has_self;
		bp_bytes_figure_text(&node->row.bytes, bp_style_of(options), lines[i].bytes);
		bp_count_text(node->row.samples, lines[i].samples);
		lines[i].indent = indents[node->depth];
		indents[node->depth + 1] = indents[node->depth] + (chain ? 0 : 2);
	}
	const struct layout layout = lay_out(aggregation, tree, lines, count, options);
	write_heading(aggregation, &layout, options, out);
	for (uint32_t i = 0; i < count; i++)
		write_line(aggregation, &tree->nodes[i], &lines[i], &layout, options, out);
	*ret_bars = layout.bar > 0;
	free(lines);
	free(indents);
	return true;
}

static bool write_tree(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_call_tree tree;
	bool bars = false;
	if (!bp_call_tree_build(aggregation, SHARE_MIN, &tree, error))
		return false;
	bp_write_header(aggregation, options, out);
	uint32_t count = tree.count < options->rows ? tree.count : options->rows;
	bool good = write_nodes(aggregation, &tree, count, options, &bars, out);
	if (bars) {
		putc('\n', out);
		bp_write_bar_legend(options, out);
	}
	if (count < tree.count)
		fprintf(out, "\n  %u more line%s: --rows %u shows them\n", tree.count - count,
			tree.count - count == 1 ? "" : "s", tree.count);
	if (tree.pruned > 0) {
		char text[128];
		snprintf(text, sizeof text,
			tree.pruned == 1
				? "%u branch below %g %% of the whole is pruned into the line that "
				  "counts it"
				: "%u branches below %g %% of the whole are pruned into the lines "
				  "that count them",
			tree.pruned, 100 * SHARE_MIN);
		putc('\n', out);
		bp_write_note(options, text, out);
	}
	bp_call_tree_finish(&tree);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_tree = { .name = "tree",
	.for_eyes = true,
	.needs_stacks = true,
	.rows = BP_ROWS_ALL,
	.write = write_tree };
