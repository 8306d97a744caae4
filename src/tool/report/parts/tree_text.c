/* SPDX-License-Identifier: MIT */
/*
 * The lines of a tree: widths that they fit into, chains folded, bars on one scale; see
 * tree_text.h. Where the terminal is narrow names are shortened first, then samples go, then bars.
 */
#include "report/parts/tree_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/bar.h"
#include "report/parts/header.h"
#include "text/chain_text.h"
#include "text/escape.h"

#define INDENT_MAX 40	    /* columns of indentation; deeper branches stay there */
#define NAME_COLUMNS_MIN 16 /* behind any indentation */
#define NAMES_KEPT 34	    /* columns of names and their indentation that no bar takes away */
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 40
#define NAME_BYTES 4096
#define HEADING " by call tree" /* behind the metric, over the names */

/* A line as text, and the node that it ends with, which has the figures of all on it. */
struct line {
	const struct bp_tree_item *node;
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

static void write_name(const struct line *line, unsigned columns,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_tree_item *node = line->node;
	char text[NAME_BYTES];
	if (node->pruned > 0) {
		snprintf(text, sizeof text, "%u more, %sbelow %g %%", node->pruned,
			node->pruned == 1 ? "" : "each ", 100 * BP_TREE_SHARE_MIN);
		if (bp_text_columns(text) > columns)
			snprintf(text, sizeof text, "+%u below %g %%", node->pruned,
				100 * BP_TREE_SHARE_MIN);
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
		bp_write_bar(&line->node->bytes.interval, layout->scale_bytes, layout->bar, options,
			out);
	}
	if (layout->samples > 0)
		fprintf(out, "  %*s%s", (int)(layout->samples - bp_text_columns(line->samples)), "",
			line->samples);
	fprintf(out, "  %*s", (int)indent, "");
	write_name(line, left > NAME_COLUMNS_MIN ? left : NAME_COLUMNS_MIN, options, out);
}

/* The scale of the bars: 0 at the left end, the largest limit at the right. */
static void write_heading(const char *metric, const struct layout *layout,
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
	fprintf(out, "  %s" HEADING "%s\n", metric, bp_style_end(options));
}

static unsigned line_columns(const struct line *line, const struct bp_report_options *options)
{
	return line->node->pruned > 0
		       ? 32
		       : bp_chain_columns(line->names, line->name_count, options->utf8);
}

/* Widths that every line fits into. */
static struct layout widths_of(const char *metric, const struct line *lines, uint32_t count,
	const struct bp_report_options *options)
{
	struct layout layout = { .bytes = 5, .samples = 7, .indent_max = INDENT_MAX };
	layout.names = (unsigned)(strlen(metric) + strlen(HEADING));
	for (uint32_t i = 0; i < count; i++) {
		const struct line *line = &lines[i];
		const double high = line->node->bytes.interval.high;
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

static struct layout lay_out(const char *metric, const struct line *lines, uint32_t count,
	const struct bp_report_options *options)
{
	const struct layout whole = widths_of(metric, lines, count, options);
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
static bool make_lines(const struct bp_tree_item *items, uint32_t count,
	const struct bp_report_options *options, struct lines *ret_lines)
{
	struct lines lines = { .data = calloc((size_t)count + 1, sizeof *lines.data),
		.names = calloc((size_t)count + 1, sizeof *lines.names) };
	/* Indentation of the children of the node last seen at each depth. */
	unsigned *indents = calloc((size_t)count + 2, sizeof *indents);
	if (lines.data == NULL || lines.names == NULL || indents == NULL) {
		finish_lines(&lines);
		free(indents);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct line *line = &lines.data[lines.count++];
		const uint32_t first = i;
		lines.names[i] = items[i].name;
		for (; items[i].goes_on && i + 1 < count; i++)
			lines.names[i + 1] = items[i + 1].name;
		/* The whole is not named where one function holds all of it. */
		const uint32_t left_out = items[first].depth == 0 && i > first;
		line->indent = indents[items[first].depth];
		line->names = &lines.names[first + left_out];
		line->name_count = i + 1 - first - left_out;
		line->node = &items[i];
		indents[line->node->depth + 1] = line->indent + 2;
		bp_bytes_figure_text(&line->node->bytes, bp_style_of(options), line->bytes);
		bp_count_text(line->node->samples, line->samples);
	}
	free(indents);
	*ret_lines = lines;
	return true;
}

/* Returns whether there was room for bars. */
static bool write_lines(const char *metric, const struct line *lines, uint32_t count,
	const struct bp_report_options *options, FILE *out)
{
	const struct layout layout = lay_out(metric, lines, count, options);
	write_heading(metric, &layout, options, out);
	for (uint32_t i = 0; i < count; i++)
		write_line(&lines[i], &layout, options, out);
	return layout.bar > 0;
}

bool bp_write_tree(const struct bp_tree_item *items, uint32_t count, const char *metric,
	const struct bp_report_options *options, uint32_t *ret_lines, FILE *out,
	struct bp_error *error)
{
	struct lines lines;
	if (!make_lines(items, count, options, &lines))
		return bp_error_set(error, "out of memory");
	const uint32_t shown = lines.count < options->rows ? lines.count : options->rows;
	if (write_lines(metric, lines.data, shown, options, out)) {
		putc('\n', out);
		bp_write_bar_legend(options, out);
	}
	*ret_lines = lines.count;
	finish_lines(&lines);
	return true;
}

void bp_write_tree_left_out(
	uint32_t lines, uint32_t pruned, const struct bp_report_options *options, FILE *out)
{
	char text[128];
	if (options->rows < lines)
		fprintf(out, "\n  %u more line%s: --rows %u shows them\n", lines - options->rows,
			lines - options->rows == 1 ? "" : "s", lines);
	if (pruned == 0)
		return;
	snprintf(text, sizeof text,
		pruned == 1
			? "%u branch below %g %% of the whole is pruned into the line that counts "
			  "it"
			: "%u branches below %g %% of the whole are pruned into the lines that "
			  "count them",
		pruned, 100 * BP_TREE_SHARE_MIN);
	putc('\n', out);
	bp_write_note(options, text, out);
}
