/* SPDX-License-Identifier: MIT */
/*
 * The call tree from the outermost frame on: figures with their intervals, as bars on one scale
 * too, and the function. A chain of functions with a single callee each is one line
 * (text/chain_text.h): all of them hold the same; small branches are one line that says how many
 * they are and what they hold. Where the terminal is narrow names are shortened first, then samples
 * go, then bars.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/views/call_tree.h"
#include "report/parts/bar.h"
#include "report/parts/header.h"
#include "report/report.h"
#include "text/chain_text.h"
#include "text/escape.h"

#define SHARE_MIN 0.01	    /* branches below this share of the whole are pruned */
#define INDENT_MAX 40	    /* columns of indentation; deeper branches stay there */
#define NAME_COLUMNS_MIN 16 /* behind any indentation */
#define NAMES_KEPT 34	    /* columns of names and their indentation that no bar takes away */
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 40
#define NAME_BYTES 4096
#define HEADING " by call tree" /* behind the metric, over the names */

/* A line as text, and the node that it ends with, which has the figures of all on it. */
struct line {
	const struct bp_tree_node *node;
	char bytes[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	const char *const *names; /* outermost first */
	uint32_t name_count;
	unsigned indent;
};

/* The lines of a tree. */
struct lines {
	struct line *data;
	const char **names; /* of all nodes */
	uint32_t count;
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

static void write_name(const struct line *line, unsigned columns,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_tree_node *node = line->node;
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
	const struct bp_chain_style style = { .as_recorded = options->names_as_recorded,
		.utf8 = options->utf8 };
	bp_chain_text(line->names, line->name_count, style, columns, text, sizeof text);
	fprintf(out, "%s\n", text);
}

static void write_line(const struct line *line, const struct layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	const unsigned indent =
		line->indent < layout->indent_max ? line->indent : layout->indent_max;
	const unsigned left = layout->names > indent ? layout->names - indent : 0;
	fprintf(out, "  %*s%s", (int)(layout->bytes - bp_text_columns(line->bytes)), "",
		line->bytes);
	if (layout->bar > 0) {
		fputs("  ", out);
		bp_write_bar(&line->node->row.bytes.interval, layout->scale_bytes, layout->bar,
			options, out);
	}
	if (layout->samples > 0)
		fprintf(out, "  %*s%s", (int)(layout->samples - bp_text_columns(line->samples)), "",
			line->samples);
	fprintf(out, "  %*s", (int)indent, "");
	write_name(line, left > NAME_COLUMNS_MIN ? left : NAME_COLUMNS_MIN, options, out);
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
	fprintf(out, "  %s" HEADING "%s\n",
		bp_metric_word(aggregation->query.metric, aggregation->profile->mapped),
		bp_style_end(options));
}

static unsigned line_columns(const struct line *line, const struct bp_report_options *options)
{
	return line->node->pruned > 0
		       ? 32
		       : bp_chain_columns(line->names, line->name_count, options->utf8);
}

/* Widths that every line fits into. */
static struct layout widths_of(const struct bp_aggregation *aggregation, const struct line *lines,
	uint32_t count, const struct bp_report_options *options)
{
	struct layout layout = { .bytes = 5, .samples = 7, .indent_max = INDENT_MAX };
	layout.names = (unsigned)(strlen(bp_metric_word(aggregation->query.metric,
					  aggregation->profile->mapped)) +
				  strlen(HEADING));
	for (uint32_t i = 0; i < count; i++) {
		const struct line *line = &lines[i];
		const double high = line->node->row.bytes.interval.high;
		const unsigned widths[3] = { bp_text_columns(line->bytes),
			bp_text_columns(line->samples),
			(line->indent < INDENT_MAX ? line->indent : INDENT_MAX) +
				line_columns(line, options) };
		layout.bytes = widths[0] > layout.bytes ? widths[0] : layout.bytes;
		layout.samples = widths[1] > layout.samples ? widths[1] : layout.samples;
		layout.names = widths[2] > layout.names ? widths[2] : layout.names;
		if (isfinite(high))
			layout.scale_bytes = fmax(layout.scale_bytes, high);
	}
	return layout;
}

static struct layout lay_out(const struct bp_aggregation *aggregation, const struct line *lines,
	uint32_t count, const struct bp_report_options *options)
{
	const struct layout whole = widths_of(aggregation, lines, count, options);
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

static void finish_lines(struct lines *lines)
{
	free(lines->data);
	free(lines->names);
	*lines = (struct lines){ 0 };
}

/* The lines of a tree; false: no memory. */
static bool make_lines(const struct bp_aggregation *aggregation, const struct bp_call_tree *tree,
	const struct bp_report_options *options, struct lines *ret_lines)
{
	struct lines lines = { .data = calloc((size_t)tree->count + 1, sizeof *lines.data),
		.names = calloc((size_t)tree->count + 1, sizeof *lines.names) };
	/* Indentation of the children of the node last seen at each depth. */
	unsigned *indents = calloc((size_t)tree->count + 2, sizeof *indents);
	if (lines.data == NULL || lines.names == NULL || indents == NULL) {
		finish_lines(&lines);
		free(indents);
		return false;
	}
	for (uint32_t i = 0; i < tree->count; i++) {
		struct line *line = &lines.data[lines.count++];
		const uint32_t length = bp_call_tree_chain(tree, i);
		/* The whole is not named where one function holds all of it. */
		const uint32_t left_out = tree->nodes[i].depth == 0 && length > 1;
		line->indent = indents[tree->nodes[i].depth];
		line->names = &lines.names[i + left_out];
		line->name_count = length - left_out;
		for (uint32_t j = 0; j < length; j++)
			lines.names[i + j] = function_name(aggregation, &tree->nodes[i + j]);
		i += length - 1;
		line->node = &tree->nodes[i];
		indents[line->node->depth + 1] = line->indent + 2;
		bp_bytes_figure_text(&line->node->row.bytes, bp_style_of(options), line->bytes);
		bp_count_text(line->node->row.samples, line->samples);
	}
	free(indents);
	*ret_lines = lines;
	return true;
}

/* Returns whether there was room for bars. */
static bool write_lines(const struct bp_aggregation *aggregation, const struct line *lines,
	uint32_t count, const struct bp_report_options *options, FILE *out)
{
	const struct layout layout = lay_out(aggregation, lines, count, options);
	write_heading(aggregation, &layout, options, out);
	for (uint32_t i = 0; i < count; i++)
		write_line(&lines[i], &layout, options, out);
	return layout.bar > 0;
}

/* What was left out: lines, and small branches. */
static void write_left_out(const struct lines *lines, uint32_t count, uint32_t pruned,
	const struct bp_report_options *options, FILE *out)
{
	char text[128];
	if (count < lines->count)
		fprintf(out, "\n  %u more line%s: --rows %u shows them\n", lines->count - count,
			lines->count - count == 1 ? "" : "s", lines->count);
	if (pruned == 0)
		return;
	snprintf(text, sizeof text,
		pruned == 1
			? "%u branch below %g %% of the whole is pruned into the line that counts "
			  "it"
			: "%u branches below %g %% of the whole are pruned into the lines that "
			  "count them",
		pruned, 100 * SHARE_MIN);
	putc('\n', out);
	bp_write_note(options, text, out);
}

static bool write_tree(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_call_tree tree;
	struct lines lines;
	if (bp_nothing_matches(aggregation)) {
		bp_write_header(aggregation, options, out);
		return true;
	}
	if (!bp_call_tree_build(aggregation, SHARE_MIN, false, &tree, error))
		return false;
	if (!make_lines(aggregation, &tree, options, &lines)) {
		bp_call_tree_finish(&tree);
		return bp_error_set(error, "out of memory");
	}
	const uint32_t count = lines.count < options->rows ? lines.count : options->rows;
	bp_write_header(aggregation, options, out);
	if (write_lines(aggregation, lines.data, count, options, out)) {
		putc('\n', out);
		bp_write_bar_legend(options, out);
	}
	bp_write_charged(aggregation, options, out);
	write_left_out(&lines, count, tree.pruned, options, out);
	finish_lines(&lines);
	bp_call_tree_finish(&tree);
	return true;
}

const struct bp_report bp_report_tree = { .name = "tree",
	.for_eyes = true,
	.needs_stacks = true,
	.rows = BP_ROWS_ALL,
	.write = write_tree };
