/* SPDX-License-Identifier: MIT */
/*
 * Growth for people: which keys hold more and more, in bytes a second, ordered by what they grow at
 * least. A suspect is a key whose lower limit, at an error shared out over all keys, is above zero:
 * the chance that there is any suspect that does not grow is at most the rate asked for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/time_text.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"
#include "report/parts/stack_text.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define NAME_COLUMNS_LEAST 24

enum column { MARK, RATE, LEAST, BEFORE, AFTER, COLUMNS };

struct line {
	char cells[COLUMNS][BP_QUANTITY_BYTES];
	struct bp_diff_row row;
};

struct table {
	const struct bp_diff_moments *moments;
	const struct bp_report_options *options;
	struct line *lines;
	uint32_t count;
	double seconds;
	char headings[COLUMNS][BP_QUANTITY_BYTES];
	unsigned widths[COLUMNS];
};

static void moment_text(
	const struct bp_diff_moments *moments, int side, char buffer[BP_QUANTITY_BYTES])
{
	if (moments->origin_unix_ns == 0)
		bp_time_text(moments->at_ns[side], buffer);
	else
		bp_moment_text(moments->origin_unix_ns + moments->at_ns[side], true, buffer,
			BP_QUANTITY_BYTES);
}

static void fill(const struct table *table, struct line *line, bool total)
{
	struct bp_quantity_style style = bp_style_of(table->options);
	const struct bp_diff_figure *bytes = &line->row.bytes;
	struct bp_figure rate = bp_figure_per_second(&bytes->change, table->seconds);
	struct bp_figure least = { .interval = { .low = bytes->lower / table->seconds } };
	least.interval.estimate = least.interval.high = least.interval.low;
	bool suspect = line->row.verdict != BP_VERDICT_UNCLEAR;
	snprintf(line->cells[MARK], sizeof line->cells[MARK], "%s",
		total	  ? ""
		: suspect ? "suspect"
			  : "unclear");
	bp_bytes_change_text(&rate, style, "/s", line->cells[RATE]);
	if (suspect && !total) {
		least.interval.low = least.interval.high = floor(least.interval.low);
		bp_bytes_change_text(&least, style, "/s", line->cells[LEAST]);
	}
	bp_bytes_estimate_text(&bytes->side[BP_BASE], style, line->cells[BEFORE]);
	bp_bytes_estimate_text(&bytes->side[BP_NEW], style, line->cells[AFTER]);
}

static void put_padded(const char *text, unsigned columns, bool right, FILE *out)
{
	unsigned width = bp_text_columns(text);
	int blanks = (int)(columns > width ? columns - width : 0);
	fprintf(out, "%*s%s%*s  ", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

static unsigned lay_out(struct table *table)
{
	unsigned used = 2;
	for (int c = 0; c < COLUMNS; c++) {
		table->widths[c] = bp_text_columns(table->headings[c]);
		for (uint32_t i = 0; i < table->count; i++) {
			unsigned width = bp_text_columns(table->lines[i].cells[c]);
			table->widths[c] = width > table->widths[c] ? width : table->widths[c];
		}
		used += table->widths[c] + 2;
	}
	/* What is dearest goes last. */
	static const enum column order[] = { BEFORE, LEAST, AFTER };
	unsigned columns = table->options->columns;
	for (size_t i = 0; i < BP_COUNT(order) && used + NAME_COLUMNS_LEAST > columns; i++) {
		used -= table->widths[order[i]] + 2;
		table->widths[order[i]] = 0;
	}
	return used + NAME_COLUMNS_LEAST <= columns ? columns - used : NAME_COLUMNS_LEAST;
}

static void write_table(struct table *table, FILE *out)
{
	const struct bp_report_options *options = table->options;
	const struct bp_query *query = &bp_diff_moments_later(table->moments)->query;
	unsigned name_columns = lay_out(table), stacks = 0;
	char name[NAME_BYTES];
	fprintf(out, "\n  %s", bp_style_bold(options));
	for (int c = 0; c < COLUMNS; c++)
		if (table->widths[c] > 0)
			put_padded(table->headings[c], table->widths[c], c != MARK, out);
	fprintf(out, "%s%s\n", bp_query_by(query), bp_style_end(options));
	for (uint32_t i = 0; i < table->count; i++) {
		const struct line *line = &table->lines[i];
		const char *colour = i > 0 ? bp_style_verdict(options, line->row.verdict) : "";
		fputs("  ", out);
		for (int c = 0; c < COLUMNS; c++) {
			if (table->widths[c] == 0)
				continue;
			fputs(c <= RATE ? colour : "", out);
			put_padded(line->cells[c], table->widths[c], c != MARK, out);
			fputs(c <= RATE && *colour != '\0' ? bp_style_end(options) : "", out);
		}
		if (line->row.name != NULL)
			bp_report_name(options, line->row.name, name_columns, name, sizeof name);
		else
			snprintf(name, sizeof name, "#%u", ++stacks);
		fprintf(out, "%s\n%s", name, i == 0 && table->count > 1 ? "\n" : "");
		if (line->row.name == NULL)
			bp_write_frames(line->row.profile, line->row.frames, line->row.frame_count,
				options, out);
	}
}

static void write_head(const struct table *table, FILE *out)
{
	const struct bp_aggregation *new = bp_diff_moments_later(table->moments);
	uint64_t samples = new->samples;
	char from[BP_QUANTITY_BYTES], to[BP_QUANTITY_BYTES], number[BP_QUANTITY_BYTES], name[256];
	const struct bp_process *subject = &new->profile->processes.data[new->subject.i];
	const uint32_t runs = new->profile->stored_runs;
	bp_terminal_text(bp_process_name(new->profile, subject), table->options->utf8, 60, name,
		sizeof name);
	if (runs > 0)
		snprintf(name, sizeof name, "%u run%s", runs, runs == 1 ? "" : "s");
	if (table->moments->host_count > 0) {
		snprintf(name, sizeof name, "%u hosts, a sample", table->moments->host_count);
		samples = 0;
		for (uint32_t i = 0; i < table->moments->host_count; i++)
			samples += table->moments->hosts[i].shown[BP_NEW].samples;
	}
	moment_text(table->moments, BP_BASE, from);
	moment_text(table->moments, BP_NEW, to);
	bp_count_text(samples, number);
	fprintf(out, "%s%s%s, growth of live memory%s by %s%s from %s to %s, %s samples\n",
		bp_style_bold(table->options), name, bp_style_end(table->options),
		table->moments->host_count > 0 ? " of one host, on average," : "",
		bp_query_by(&new->query), new->query.cumulative ? ", cumulative," : "", from, to,
		number);
	for (char **w = table->moments->diff.warnings; *w != NULL; w++) {
		bp_write_warning(table->options, *w, out);
	}
}

static void write_foot(const struct table *table, FILE *out)
{
	const struct bp_diff *diff = &table->moments->diff;
	char text[512], percent[BP_QUANTITY_BYTES];
	bp_percent_text(bp_diff_moments_later(table->moments)->query.confidence, percent);
	snprintf(text, sizeof text,
		"%u suspect%s among %u row%s: their lower limit (\"at least\") is above 0 at an "
		"error of %g %% shared out over all rows. Rates with their %s %% intervals. What "
		"grows may be a leak, a cache or a phase of the program: compare other moments "
		"(--from, --until).",
		diff->verdict_count, diff->verdict_count == 1 ? "" : "s", diff->row_count,
		diff->row_count == 1 ? "" : "s", 100 * diff->query.rate, percent);
	putc('\n', out);
	bp_write_note(table->options, text, out);
	if (table->moments->host_count > 0)
		bp_write_note(table->options,
			"Rates and limits are of the mean of the hosts that these are a sample of: they "
			"cover how much the growth of hosts differs (Student's t) and the noise of "
			"sampling.",
			out);
	else if (bp_diff_moments_later(table->moments)->profile->stored_runs > 1)
		bp_write_note(table->options,
			"The runs are summed: the intervals cover the noise of sampling, not how "
			"much runs vary.",
			out);
}

void bp_write_growth_text(
	const struct bp_diff_moments *moments, const struct bp_report_options *options, FILE *out)
{
	const struct bp_diff *diff = &moments->diff;
	uint32_t shown = diff->row_count < options->rows ? diff->row_count : options->rows;
	struct table table = { .moments = moments,
		.options = options,
		.count = shown + 1,
		.seconds = (double)(moments->at_ns[BP_NEW] - moments->at_ns[BP_BASE]) / 1e9,
		.headings = { "", "growth", "at least" } };
	char time[BP_QUANTITY_BYTES];
	table.lines = calloc((size_t)shown + 1, sizeof *table.lines);
	if (table.lines == NULL)
		return;
	for (int side = 0; side < BP_SIDES; side++) {
		moment_text(moments, side, time);
		snprintf(table.headings[BEFORE + side], sizeof table.headings[0], "at %.60s", time);
	}
	bp_diff_total(diff, &table.lines[0].row);
	for (uint32_t i = 0; i < shown; i++)
		bp_diff_row(diff, i, &table.lines[i + 1].row);
	for (uint32_t i = 0; i <= shown; i++)
		fill(&table, &table.lines[i], i == 0);
	write_head(&table, out);
	write_table(&table, out);
	if (shown < diff->row_count)
		fprintf(out, "  (%u more rows: --rows)\n", diff->row_count - shown);
	write_foot(&table, out);
	free(table.lines);
}
