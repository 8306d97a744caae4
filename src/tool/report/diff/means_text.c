/* SPDX-License-Identifier: MIT */
/* The mean of a sample of hosts for people: the rows as the table of a report has them, with how
 * much hosts differ and on how many of them something was seen. */
#include <math.h>

#include "report/diff/diff_report.h"
#include "report/diff/means_report.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "text/escape.h"

enum column { BYTES, OBJECTS, DEVIATION, HOSTS, SAMPLES };

static void write_head(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out)
{
	const struct bp_report_options *report = &options->report;
	const struct bp_aggregation *first = means->hosts[0].compared;
	char of[64] = "mean of one host";
	if (options->all_hosts > 0)
		snprintf(of, sizeof of, "all %u hosts", options->all_hosts);
	fprintf(out, "%s%u hosts, a sample%s: %s%s by %s, %s\n", bp_style_bold(report),
		means->host_count, bp_style_end(report), bp_metric_names[first->query.metric],
		first->query.cumulative ? ", cumulative," : "", bp_query_by(&first->query), of);
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
		const struct bp_diff_row stack = {
			.profile = row.profile, .frames = row.frames, .frame_count = row.frame_count
		};
		fprintf(out, "\n  #%u\n", i + 1);
		bp_write_diff_stack(&stack, options, out);
	}
}

static void write_foot(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out)
{
	char text[512], percent[BP_QUANTITY_BYTES];
	bp_percent_text(means->hosts[0].compared->query.confidence, percent);
	snprintf(text, sizeof text,
		"%s %% intervals of %s, of which these %u are a sample: they cover how much hosts "
		"differ (Student's t, %u degrees of freedom) and the noise of sampling. \"host to "
		"host\" is the standard deviation between single hosts without that noise.",
		percent,
		options->all_hosts > 0 ? "the sum of all hosts" : "what a host holds on average",
		means->host_count, means->host_count - 1);
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
	write_head(means, options, out);
	if (good && bp_grid_write(&grid, report, out))
		bp_write_bar_legend(report, out);
	bp_grid_finish(&grid);
	if (shown < rows)
		fprintf(out, "  (%u more rows: --rows)\n", rows - shown);
	write_stacks(means, shown, report, out);
	write_foot(means, options, out);
}
