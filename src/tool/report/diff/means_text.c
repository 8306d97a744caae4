/* SPDX-License-Identifier: MIT */
/* The mean of a sample of hosts for people: the rows as the table of a report has them, with how
 * much hosts differ and on how many of them something was seen. */
#include <math.h>
#include <stdlib.h>

#include "diff/means_tree.h"
#include "report/diff/diff_report.h"
#include "report/diff/means_report.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/stack_text.h"
#include "report/parts/tree_text.h"
#include "text/escape.h"

enum column { BYTES, OBJECTS, DEVIATION, HOSTS, SAMPLES };

static void write_head(const struct bp_means *means, const char *by,
	const struct bp_means_options *options, FILE *out)
{
	const struct bp_report_options *report = &options->report;
	const struct bp_aggregation *first = means->hosts[0].compared;
	char of[64] = "mean of one host";
	if (options->all_hosts > 0)
		snprintf(of, sizeof of, "all %u hosts", options->all_hosts);
	fprintf(out, "%s%u hosts, a sample%s: %s%s by %s, %s\n", bp_style_bold(report),
		means->host_count, bp_style_end(report), bp_metric_names[first->query.metric],
		first->query.cumulative ? ", cumulative," : "", by, of);
	for (char **w = means->warnings; *w != NULL; w++)
		bp_write_warning(report, *w, out);
}

static void fill(struct bp_grid_row *line, const struct bp_means *means,
	const struct bp_means_row *row, const struct bp_report_options *options)
{
	const struct bp_quantity_style style = bp_style_of(options);
	struct bp_figure bytes = row->bytes.figure;
	line->bar = bytes.interval;
	bp_bytes_figure_text(&bytes, style, line->cells[BYTES]);
	bp_objects_figure_text(&row->objects.figure, style, line->cells[OBJECTS]);
	bp_bytes_text((uint64_t)row->bytes.deviation, style, line->cells[DEVIATION]);
	snprintf(line->cells[HOSTS], sizeof line->cells[HOSTS], "%u of %u", row->seen_hosts,
		means->host_count);
	bp_count_text(row->samples, line->cells[SAMPLES]);
}

/* By stack: "#3", whose functions are listed below the table. */
static bool add_row(struct bp_grid *grid, const struct bp_means *means,
	const struct bp_means_row *row, const struct bp_report_options *options, uint32_t number)
{
	char stack[32];
	snprintf(stack, sizeof stack, "#%u", number + 1);
	struct bp_grid_row *line = bp_grid_add(grid, row->name != NULL ? row->name : stack);
	if (line != NULL)
		fill(line, means, row, options);
	return line != NULL;
}

static void write_stacks(const struct bp_means *means, uint32_t shown,
	const struct bp_report_options *options, FILE *out)
{
	for (uint32_t i = 0; i < shown; i++) {
		struct bp_means_row row;
		bp_means_row(means, i, &row);
		if (row.name != NULL)
			return;
		fprintf(out, "\n  #%u\n", i + 1);
		bp_write_frames(row.profile, row.frames, row.frame_count, options, out);
	}
}

static void write_foot(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out)
{
	char text[512], percent[BP_QUANTITY_BYTES];
	bp_percent_text(means->hosts[0].compared->query.confidence, percent);
	snprintf(text, sizeof text,
		"%s %% intervals of %s, of which these %u are a sample: they cover how much hosts "
		"differ (Student's t, %u degrees of freedom) and the noise of sampling.%s",
		percent,
		options->all_hosts > 0 ? "the sum of all hosts" : "what a host holds on average",
		means->host_count, means->host_count - 1,
		means->diff.query.paths ? ""
					: " \"host to host\" is the standard deviation between "
					  "single hosts without that noise.");
	putc('\n', out);
	bp_write_note(&options->report, text, out);
}

void bp_write_means_text(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out)
{
	const struct bp_report_options *report = &options->report;
	const uint32_t rows = means->row_count;
	const uint32_t shown = rows < report->rows ? rows : report->rows;
	struct bp_grid grid = { .name = bp_query_by(&means->hosts[0].compared->query),
		.headings = { "bytes", "objects", "host to host", "seen on", "samples" },
		.goes = { SAMPLES, OBJECTS, HOSTS, DEVIATION, BYTES },
		.bars = true };
	struct bp_means_row row;
	bp_means_total(means, &row);
	bool good = add_row(&grid, means, &row, report, 0);
	for (uint32_t i = 0; good && i < shown; i++) {
		bp_means_row(means, i, &row);
		good = add_row(&grid, means, &row, report, i);
	}
	write_head(means, grid.name, options, out);
	if (good && bp_grid_write(&grid, report, out))
		bp_write_bar_legend(report, out);
	bp_grid_finish(&grid);
	if (shown < rows)
		fprintf(out, "  (%u more rows: --rows)\n", rows - shown);
	write_stacks(means, shown, report, out);
	write_foot(means, options, out);
}

/* NULL: no memory. */
static struct bp_tree_item *items_of(const struct bp_means_tree *tree)
{
	struct bp_tree_item *items = calloc((size_t)tree->count + 1, sizeof *items);
	for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
		const struct bp_means_node *node = &tree->nodes[i];
		items[i] = (struct bp_tree_item){ .name = node->name != NULL ? node->name : "all",
			.depth = node->depth,
			.pruned = node->pruned,
			.goes_on = node->goes_on,
			.bytes = node->row.bytes.figure,
			.samples = node->row.samples };
	}
	return items;
}

bool bp_write_means_tree(const struct bp_means *means, const struct bp_means_options *options,
	FILE *out, struct bp_error *error)
{
	const struct bp_report_options *report = &options->report;
	const struct bp_query *query = &means->hosts[0].compared->query;
	struct bp_means_tree tree;
	uint32_t lines;
	if (!bp_means_tree_build(means, BP_TREE_SHARE_MIN, &tree, error))
		return false;
	struct bp_tree_item *items = items_of(&tree);
	bool good = items != NULL || bp_error_set(error, "out of memory");
	if (good) {
		write_head(means, "call tree", options, out);
		good = bp_write_tree(items, tree.count, bp_metric_word(query->metric, false),
			report, &lines, out, error);
	}
	if (good) {
		bp_write_tree_left_out(lines, tree.pruned, report, out);
		write_foot(means, options, out);
	}
	free(items);
	bp_means_tree_finish(&tree);
	return good;
}
