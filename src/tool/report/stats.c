/* SPDX-License-Identifier: MIT */
/*
 * `report --stats`: how what was allocated is distributed, over sizes, lifetimes and time, and the
 * largest sizes. The aggregation is of metric allocated by size; everything beyond its rows comes
 * from aggregation/views/distribution.h.
 */
#include "report/stats.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/views/distribution.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"

#define TIMES 12
#define NAME_BYTES (2 * BP_QUANTITY_BYTES + 16)

static void bytes_cell(
	const struct bp_figure *figure, const struct bp_report_options *options, char *cell)
{
	bp_bytes_figure_text(figure, bp_style_of(options), cell);
}

static void objects_cell(
	const struct bp_figure *figure, const struct bp_report_options *options, char *cell)
{
	bp_objects_figure_text(figure, bp_style_of(options), cell);
}

static void write_note(const struct bp_report_options *options, const char *text, FILE *out)
{
	bp_write_note(options, text, out);
}

/* "128 to 256 KiB", "512 KiB to 1 MiB": one unit, where both limits have the same. */
static void range_name(const char *low, const char *high, char *to, size_t bytes)
{
	const char *low_unit = strchr(low, ' '), *high_unit = strchr(high, ' ');
	const bool alike =
		low_unit != NULL && high_unit != NULL && strcmp(low_unit, high_unit) == 0;
	snprintf(to, bytes, "%.*s to %s", alike ? (int)(low_unit - low) : (int)strlen(low), low,
		high);
}

/* "64 to 127 B", "1 to 2 KiB": from 1024 bytes on the upper limit belongs to the next range. */
static void size_name(const struct bp_size_range *range, const struct bp_report_options *options,
	char *to, size_t bytes)
{
	char low[BP_QUANTITY_BYTES], end[BP_QUANTITY_BYTES];
	bp_bytes_text(range->low, bp_style_of(options), low);
	bp_bytes_text(range->high + 1, bp_style_of(options), end);
	if (range->high < 1024)
		snprintf(to, bytes, range->low == range->high ? "%llu B" : "%llu to %llu B",
			(unsigned long long)range->low, (unsigned long long)range->high);
	else if (range->high == UINT64_MAX)
		snprintf(to, bytes, "%s and more", low);
	else
		range_name(low, end, to, bytes);
}

static bool write_sizes(const struct bp_distribution *distribution,
	const struct bp_aggregation *aggregation, const struct bp_report_options *options,
	FILE *out)
{
	struct bp_grid grid = { .name = "allocated by size",
		.headings = { "bytes", "objects", bp_live_name(aggregation), "objects" },
		.goes = { 3, 1, 2 },
		.bars = true };
	char name[NAME_BYTES], unseen[BP_QUANTITY_BYTES], note[512];
	bool good = true;
	if (aggregation->query.has_at)
		grid.headings[2] = "live then";
	if (aggregation->lacks & BP_LACKS_FREES) {
		grid.headings[2] = NULL;
		grid.goes[0] = 1;
	}
	for (unsigned i = 0; good && i < BP_SIZE_RANGES; i++) {
		const struct bp_size_range *range = &distribution->sizes[i];
		if (range->allocated.samples == 0)
			continue;
		size_name(range, options, name, sizeof name);
		struct bp_grid_row *row = bp_grid_add(&grid, name);
		good = row != NULL;
		if (!good)
			break;
		row->bar = range->allocated.bytes.interval;
		bytes_cell(&range->allocated.bytes, options, row->cells[0]);
		objects_cell(&range->allocated.objects, options, row->cells[1]);
		bytes_cell(&range->live.bytes, options, row->cells[2]);
		objects_cell(&range->live.objects, options, row->cells[3]);
	}
	if (good)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	bytes_cell(&distribution->unseen, options, unseen);
	snprintf(note, sizeof note, "Ranges without a sample are left out; each may hold %s.",
		unseen);
	write_note(options, note, out);
	return good;
}

static bool add_age(struct bp_grid *grid, const char *name, const struct bp_amount *freed,
	const struct bp_amount *censored, const struct bp_report_options *options)
{
	struct bp_grid_row *row = bp_grid_add(grid, name);
	if (row == NULL)
		return false;
	row->bar = freed->bytes.interval;
	bytes_cell(&freed->bytes, options, row->cells[0]);
	objects_cell(&freed->objects, options, row->cells[1]);
	bytes_cell(&censored->bytes, options, row->cells[2]);
	objects_cell(&censored->objects, options, row->cells[3]);
	return true;
}

/* Limits of lifetimes are round: "1 s", not "1.00 s". */
static void age_text(uint64_t age_ns, char *to)
{
	if (age_ns >= 1000000000)
		snprintf(to, BP_QUANTITY_BYTES, "%.6g s", (double)age_ns / 1e9);
	else
		bp_time_text(age_ns, to);
}

static void age_name(const struct bp_age_range *range, char *to, size_t bytes)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	age_text(range->low_ns, low);
	age_text(range->high_ns, high);
	if (range->high_ns == BP_TIME_NEVER)
		snprintf(to, bytes, "%s and more", low);
	else if (range->low_ns == 0)
		snprintf(to, bytes, "below %s", high);
	else
		range_name(low, high, to, bytes);
}

static bool write_ages(const struct bp_distribution *distribution,
	const struct bp_report_options *options, FILE *out)
{
	struct bp_grid grid = { .name = "lifetime",
		.headings = { "freed then", "objects", "still live", "objects" },
		.goes = { 3, 1, 2 },
		.bars = true };
	char name[NAME_BYTES], text[512];
	bool good = true;
	if (!distribution->ages_known) {
		write_note(options, "Lifetimes are not known: this file does not tell them.", out);
		return true;
	}
	for (unsigned i = 0; good && i < BP_AGE_RANGES; i++) {
		const struct bp_age_range *range = &distribution->ages[i];
		if (range->freed.samples + range->censored.samples == 0)
			continue;
		age_name(range, name, sizeof name);
		good = add_age(&grid, name, &range->freed, &range->censored, options);
	}
	good = good &&
	       add_age(&grid, "in all", &distribution->freed, &distribution->censored, options);
	if (good)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	write_note(options,
		"Still live: when their process ended these objects had that age; how much "
		"longer they would have lived nobody knows (right-censored).",
		out);
	if (distribution->age_resolution_ns > 0) {
		bp_time_text(distribution->age_resolution_ns, name);
		snprintf(text, sizeof text,
			"This trace was folded: lifetimes may be off by %.60s, either way.", name);
		write_note(options, text, out);
	}
	return good;
}

static bool write_times(const struct bp_distribution *distribution,
	const struct bp_report_options *options, FILE *out)
{
	struct bp_grid grid = { .name = "allocated over time",
		.headings = { "bytes a second", "objects a second" },
		.bars = true };
	char name[NAME_BYTES], low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES];
	bool good = true;
	for (uint32_t i = 0; good && i < distribution->time_count; i++) {
		const struct bp_time_range *range = &distribution->times[i];
		const double seconds = (double)(range->high_ns - range->low_ns) / 1e9;
		if (!distribution->times_known || !(seconds > 0))
			return true;
		const struct bp_figure bytes =
			bp_figure_per_second(&range->allocated.bytes, seconds);
		const struct bp_figure objects =
			bp_figure_per_second(&range->allocated.objects, seconds);
		bp_time_text(range->low_ns, low);
		bp_time_text(range->high_ns, high);
		range_name(low, high, name, sizeof name);
		struct bp_grid_row *row = bp_grid_add(&grid, name);
		good = row != NULL;
		if (!good)
			break;
		row->bar = bytes.interval;
		bytes_cell(&bytes, options, row->cells[0]);
		objects_cell(&objects, options, row->cells[1]);
	}
	if (good)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	return good;
}

static bool write_top(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out)
{
	struct bp_grid grid = { .name = "most in objects of",
		.headings = { "bytes", "objects", "samples" },
		.bars = true };
	uint32_t shown =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	bool good = true;
	for (uint32_t i = 0; good && i < shown; i++) {
		struct bp_row row;
		char size[BP_QUANTITY_BYTES];
		bp_aggregation_row(aggregation, i, &row);
		snprintf(size, sizeof size, "%.40s bytes", row.name);
		struct bp_grid_row *line = bp_grid_add(&grid, size);
		good = line != NULL;
		if (!good)
			break;
		line->bar = row.bytes.interval;
		bytes_cell(&row.bytes, options, line->cells[0]);
		objects_cell(&row.objects, options, line->cells[1]);
		bp_count_text(row.samples, line->cells[2]);
	}
	if (good && shown > 0)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	return good;
}

static bool write_stats(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_distribution distribution;
	bool good = true;
	if (!bp_distribution_make(aggregation, TIMES, &distribution, error))
		return false;
	bp_write_header(aggregation, options, out);
	if (aggregation->totals[BP_METRIC_ALLOCATED].samples == 0)
		write_note(options, "No sample to be distributed.", out);
	else
		good = write_sizes(&distribution, aggregation, options, out) &&
		       write_ages(&distribution, options, out) &&
		       write_times(&distribution, options, out) &&
		       write_top(aggregation, options, out);
	bp_distribution_finish(&distribution);
	putc('\n', out);
	bp_write_bar_legend(options, out);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_stats = {
	.name = "stats", .for_eyes = true, .rows = 10, .write = write_stats
};
