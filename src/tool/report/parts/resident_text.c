/* SPDX-License-Identifier: MIT */
/*
 * The kernel's figures are of whole pages and good to `uncertain_bytes`; they are written as they
 * are, and the uncertainty once. The rest is a difference and has limits on both sides of zero
 * where it may be either: more than live objects explain, or live objects that are not resident.
 */
#include "report/parts/resident_text.h"

#include <math.h>
#include <string.h>

#include "report/parts/explained_text.h"
#include "report/parts/header.h"
#include "report/parts/part_json.h"
#include "text/json_values.h"

#define ROWS 8
#define NAME_COLUMNS 22	      /* of the longest name below */
#define ROWS_MAY_BE_NOTHING 6 /* shared memory, swap: left out then */

/* Is what is shown of the one process that was looked at, and of all of it? */
static bool is_of_same(
	const struct bp_aggregation *aggregation, const struct bp_report_options *options)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_query *query = &aggregation->query;
	if (options->resident == NULL || query->filter_count > 0 || query->has_from ||
		query->has_to || profile->merged_unrelated)
		return false;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid != options->resident->pid)
			return query->pid == options->resident->pid;
	return true;
}

void bp_resident_remark(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint64_t time_ns, char *buffer)
{
	char text[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	*buffer = '\0';
	if (!is_of_same(aggregation, options))
		return;
	struct bp_known_total around;
	if (!bp_resident_around(options->resident, time_ns, &around))
		return;
	bp_bytes_text(around.low, bp_style_of(options), text);
	bp_bytes_text(around.high, bp_style_of(options), high);
	if (around.high - around.low <= around.high / 50)
		snprintf(buffer, BP_QUANTITY_BYTES + 16, "resident %s", high);
	else
		snprintf(buffer, BP_QUANTITY_BYTES + 16, "resident %.40s to %.40s", text, high);
}

void bp_absent_share_text(
	const struct bp_interval *absent, const struct bp_interval *live, char *to, size_t bytes)
{
	const double low = live->high > 0 ? fmax(100 * absent->low / live->high, 0) : 0;
	const double high = live->low > 0 ? fmin(100 * absent->high / live->low, 100) : 100;
	if (low <= 0 && high >= 100)
		snprintf(to, bytes, "?");
	else if (absent->unknown || live->unknown || live->estimate <= 0)
		snprintf(to, bytes, "[%.0f, %.0f] %%", low, high);
	else
		snprintf(to, bytes, "%.0f %% [%.0f, %.0f]",
			fmin(100 * absent->estimate / live->estimate, 100), low, high);
}

static void at_most_text(uint64_t bytes, const struct bp_report_options *options, char *to)
{
	char text[BP_QUANTITY_BYTES];
	bp_bytes_text(bytes, bp_style_of(options), text);
	snprintf(to, BP_QUANTITY_BYTES + 32, "%s %s", options->utf8 ? "≤" : "<=", text);
}

/* "706 MiB", or "at least 700 MiB" where a child may have been larger. */
static void most_text(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, char *to, size_t bytes)
{
	struct bp_known_total peak;
	char text[BP_QUANTITY_BYTES];
	*to = '\0';
	if (!bp_resident_peak(options->resident, aggregation->profile, &peak))
		return;
	bp_bytes_text(peak.low, bp_style_of(options), text);
	snprintf(to, bytes, "%s%s", peak.low < peak.high ? "at least " : "", text);
}

/* What is left of a sum, for a sentence: below zero live objects are not all resident. */
static void rest_text(const struct bp_interval *rest, const char *among,
	struct bp_quantity_style style, char *to, size_t bytes)
{
	char limits[BP_QUANTITY_BYTES];
	if (rest->high < 0) {
		bp_bytes_text((uint64_t)-rest->high, style, limits);
		snprintf(to, bytes, "of the live objects at least %s not resident", limits);
		return;
	}
	bp_bytes_limits_text(rest, style, limits);
	snprintf(to, bytes, "the rest%s %s", among, limits);
}

void bp_write_resident_line(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_quantity_style style = bp_style_of(options);
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	const struct bp_reconciled *last = &moments[BP_RECONCILED_LAST];
	char sum[BP_QUANTITY_BYTES], file[BP_QUANTITY_BYTES], live[BP_QUANTITY_BYTES];
	char rest[BP_QUANTITY_BYTES + 128], time[BP_QUANTITY_BYTES];
	char most[BP_QUANTITY_BYTES + 16], apart[BP_QUANTITY_BYTES + 32], among[64], text[1024];
	if (!bp_reconcile(aggregation, options->resident, moments))
		return;
	bp_bytes_text(bp_resident_sum(&last->point), style, sum);
	bp_bytes_text(last->point.file + last->point.shared, style, file);
	bp_bytes_figure_text(&last->live, style, live);
	at_most_text(last->recorder_most + last->stack_most, options, apart);
	bp_time_text(last->time_ns, time);
	most_text(aggregation, options, most, sizeof most);
	bp_explained_rest_text(options->explained, among, sizeof among);
	rest_text(&last->rest, among, style, rest, sizeof rest);
	snprintf(text, sizeof text,
		"resident%s at %s: %s = live objects %s, files %s, the recorder and the main stack "
		"%s, %s; the kernel's high-water mark %s (--summary says more)",
		aggregation->profile->processes.count > 2 ? " memory of the first process" : "",
		time, sum, live, file, apart, rest, most);
	bp_write_note(options, text, out);
}

/* A column of the table. */
struct column {
	char cells[ROWS][BP_QUANTITY_BYTES + 32];
	unsigned width;
};

static void fill_column(const struct bp_reconciled *moment, const char *what,
	const struct bp_report_options *options, struct column *column)
{
	const struct bp_quantity_style style = bp_style_of(options);
	const struct bp_resident_point *point = &moment->point;
	char time[BP_QUANTITY_BYTES];
	bp_time_text(moment->time_ns, time);
	snprintf(column->cells[0], sizeof column->cells[0], "%s, %.40s", what, time);
	bp_bytes_text(bp_resident_sum(point), style, column->cells[1]);
	bp_bytes_figure_text(&moment->live, style, column->cells[2]);
	at_most_text(moment->recorder_most + moment->stack_most, options, column->cells[3]);
	bp_bytes_limits_text(&moment->rest, style, column->cells[4]);
	bp_bytes_text(point->file, style, column->cells[5]);
	bp_bytes_text(point->shared, style, column->cells[6]);
	bp_bytes_text(point->swapped, style, column->cells[7]);
	column->width = 0;
	for (int row = 0; row < ROWS; row++)
		if (bp_text_columns(column->cells[row]) > column->width)
			column->width = bp_text_columns(column->cells[row]);
}

static bool is_nothing(const struct column *columns, unsigned count, int row)
{
	for (unsigned c = 0; c < count; c++)
		if (strcmp(columns[c].cells[row], "0 B") != 0)
			return false;
	return true;
}

static void write_rows(const struct column *columns, unsigned count,
	const struct bp_report_options *options, FILE *out)
{
	static const char *const names[ROWS] = { "resident memory", "in all", "  live objects",
		"  recorder, main stack", "  the rest", "  files", "  shared memory",
		"swapped out" };
	for (int row = 0; row < ROWS; row++) {
		if (row >= ROWS_MAY_BE_NOTHING && is_nothing(columns, count, row))
			continue;
		fprintf(out, "  %s%-*s", row == 0 ? bp_style_bold(options) : "", NAME_COLUMNS,
			names[row]);
		for (unsigned c = 0; c < count; c++) {
			const char *cell = columns[c].cells[row];
			fprintf(out, "   %*s%s", (int)(columns[c].width - bp_text_columns(cell)),
				"", cell);
		}
		fprintf(out, "%s\n", row == 0 ? bp_style_end(options) : "");
	}
}

void bp_write_resident_table(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	struct column columns[BP_RECONCILED_COUNT];
	char most[BP_QUANTITY_BYTES + 16], uncertain[BP_QUANTITY_BYTES], among[64], text[1024];
	if (!bp_reconcile(aggregation, options->resident, moments))
		return;
	fill_column(&moments[BP_RECONCILED_HIGHEST], "highest seen", options, &columns[0]);
	fill_column(&moments[BP_RECONCILED_LAST], "last seen", options, &columns[1]);
	const bool same =
		moments[BP_RECONCILED_HIGHEST].time_ns == moments[BP_RECONCILED_LAST].time_ns;
	unsigned count = !same && 2 + NAME_COLUMNS + 3 + columns[0].width + 3 + columns[1].width <=
						 options->columns
				 ? 2
				 : 1;
	putc('\n', out);
	write_rows(columns, count, options, out);
	most_text(aggregation, options, most, sizeof most);
	bp_bytes_text(options->resident->uncertain_bytes, bp_style_of(options), uncertain);
	bp_explained_rest_text(options->explained, among, sizeof among);
	snprintf(text, sizeof text,
		"pid %u, as the kernel counts (to %s); its high-water mark %s. The rest: memory mapped "
		"without malloc%s, slack and free memory of malloc, other stacks; below zero: "
		"never written.",
		options->resident->pid, uncertain, most, among);
	bp_write_note(options, text, out);
}

static void write_json_moment(
	struct bp_json *json, const char *name, const struct bp_reconciled *moment)
{
	const struct bp_resident_point *p = &moment->point;
	bp_json_break(json, 4);
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_seconds(json, "at", moment->time_ns);
	bp_json_whole(json, "resident", bp_resident_sum(p));
	bp_json_whole(json, "anonymous", p->anonymous);
	bp_json_whole(json, "file", p->file);
	bp_json_whole(json, "shared", p->shared);
	bp_json_whole(json, "swapped", p->swapped);
	bp_json_whole(json, "recorder_most", moment->recorder_most);
	bp_json_whole(json, "stack_most", moment->stack_most);
	bp_json_figure(json, "live", &moment->live, 1);
	bp_json_interval(json, "rest", &moment->rest, 1);
	bp_json_end(json);
}

static void write_json_points(
	struct bp_json *json, const struct bp_resident *resident, uint64_t start_ns)
{
	bp_json_break(json, 4);
	bp_json_array(json, "points", BP_JSON_TALL);
	for (uint32_t i = 0; i < resident->count; i++) {
		const struct bp_resident_point *p = &resident->points[i];
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_fixed(json, "time_s", ((double)p->time_ns - (double)start_ns) / 1e9, 9);
		bp_json_whole(json, "anonymous", p->anonymous);
		bp_json_whole(json, "file", p->file);
		bp_json_whole(json, "shared", p->shared);
		bp_json_whole(json, "swapped", p->swapped);
		bp_json_whole(json, "stack", p->stack);
		bp_json_end(json);
	}
	bp_json_end(json);
}

/* The members that --resident adds. */
static void write_json_parts(struct bp_json *json, const struct bp_parts *parts)
{
	bp_json_break(json, 4);
	if (parts->at_ns != BP_TIME_NEVER)
		bp_json_seconds(json, "at", parts->at_ns);
	bp_json_text(json, "counted_by", parts->runtime == NULL ? "kernel" : parts->runtime);
	bp_json_whole(json, "total_bytes", parts->total_bytes);
	if (parts->runtime == NULL) {
		bp_json_whole(json, "resident_bytes", parts->resident_bytes);
		bp_json_whole(json, "page_table_bytes", parts->page_table_bytes);
		bp_json_whole(json, "swapped_bytes", parts->swapped_bytes);
		bp_json_bool(json, "heap_walked", parts->heap.known);
	} else {
		bp_json_bool(json, "total_stated", parts->total_stated);
		bp_json_whole(json, "given_back_bytes", parts->given_back_bytes);
		if (parts->high_water_bytes > 0)
			bp_json_whole(json, "high_water_bytes", parts->high_water_bytes);
	}
	bp_json_break(json, 4);
	bp_json_array(json, "lines", BP_JSON_TALL);
	for (uint32_t i = 0; i < parts->count; i++)
		bp_json_part(json, &parts->parts[i], BP_JSON_SPACED, bp_json_text);
	bp_json_end(json);
	bp_json_interval(json, "unexplained", &parts->unexplained, 1);
}

static void write_json_moments(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options,
	const struct bp_reconciled moments[BP_RECONCILED_COUNT])
{
	const struct bp_resident *resident = options->resident;
	const struct bp_profile *profile = aggregation->profile;
	struct bp_known_total peak = { 0 };
	bp_resident_peak(resident, profile, &peak);
	bp_json_seconds(json, "period_s", resident->period_ns);
	bp_json_whole(json, "uncertain_bytes", resident->uncertain_bytes);
	bp_json_limits(json, "peak", peak.low, peak.high);
	write_json_moment(json, "highest", &moments[BP_RECONCILED_HIGHEST]);
	write_json_moment(json, "last", &moments[BP_RECONCILED_LAST]);
	if (options->explained != NULL) {
		bp_json_break(json, 4);
		bp_json_explained(json, options->explained);
	}
	if (options->moments > 0)
		write_json_points(
			json, resident, profile->processes.data[profile->root.i].start_time_ns);
}

void bp_json_resident(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options)
{
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	const bool reconciled = bp_reconcile(aggregation, options->resident, moments);
	if (!reconciled && options->parts == NULL)
		return;
	bp_json_object(json, "resident", BP_JSON_SPACED);
	bp_json_whole(json, "pid", reconciled ? options->resident->pid : options->parts->pid);
	if (reconciled)
		write_json_moments(json, aggregation, options, moments);
	if (options->parts != NULL)
		write_json_parts(json, options->parts);
	if (options->residency != NULL) {
		bp_json_break(json, 4);
		bp_json_residency(json, options->residency, BP_JSON_SPACED, bp_json_text);
	}
	bp_json_end(json);
}
