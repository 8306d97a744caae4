/* SPDX-License-Identifier: MIT */
/* The same question again, by named callers; see named_callers.h. */
#include "report/parts/named_callers.h"

#include <string.h>

#include "aggregation/views/nameless.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"

#define SHARE 0.5 /* of all, from which on a row is looked into */
#define ROWS 5

/* What the rows add up to. */
static const struct bp_interval *whole_of(const struct bp_aggregation *aggregation)
{
	const enum bp_metric metric = aggregation->query.metric;
	return metric == BP_METRIC_PEAK && aggregation->peak_at_ns != BP_TIME_NEVER
		       ? &aggregation->peak_moment.bytes.interval
		       : &aggregation->totals[metric].bytes.interval;
}

/* Is the first row one without a name, that holds most? */
static bool is_asked(const struct bp_aggregation *aggregation)
{
	const struct bp_query *query = &aggregation->query;
	struct bp_row row;
	if (query->by != BP_KEY_FUNCTION || query->cumulative || aggregation->row_count == 0 ||
		query->sort != BP_SORT_BYTES || !bp_aggregation_row_is_nameless(aggregation, 0))
		return false;
	bp_aggregation_row(aggregation, 0, &row);
	return row.bytes.interval.estimate > SHARE * whole_of(aggregation)->estimate;
}

/* Every program begins there, and every thread. */
static bool is_start(const char *name)
{
	static const char *const starts[] = { "_start", "__libc_start", "__libc_start_main",
		"__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone",
		"clone3", "__clone3" };
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
		if (strcmp(name, starts[i]) == 0)
			return true;
	return false;
}

static bool write_rows(
	const struct bp_aggregation *callers, const struct bp_report_options *options, FILE *out)
{
	char heading[96];
	struct bp_grid grid = { .name = heading, .headings = { "bytes", "samples" }, .bars = true };
	bool good = true;
	snprintf(heading, sizeof heading, "%s by nearest named caller",
		bp_metric_word(callers->query.metric, callers->profile->mapped));
	for (uint32_t i = 0; good && i < callers->row_count && i < ROWS; i++) {
		struct bp_row row;
		bp_aggregation_row(callers, i, &row);
		struct bp_grid_row *line = bp_grid_add(&grid, row.name);
		good = line != NULL;
		if (!good)
			break;
		line->bar = row.bytes.interval;
		bp_bytes_figure_text(&row.bytes, bp_style_of(options), line->cells[0]);
		bp_count_text(row.samples, line->cells[1]);
	}
	if (good)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	return good;
}

bool bp_write_named_callers(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_query query = aggregation->query;
	struct bp_aggregation callers;
	struct bp_row first;
	bool good = true;
	if (!is_asked(aggregation))
		return true;
	query.named_callers = query.without_peak = true;
	if (!bp_aggregate(aggregation->profile, &query, &callers, error))
		return false;
	if (callers.row_count > 0 && !bp_aggregation_row_is_nameless(&callers, 0)) {
		bp_aggregation_row(&callers, 0, &first);
		if (!is_start(first.name))
			good = write_rows(&callers, options, out) ||
			       bp_error_set(error, "out of memory");
	}
	bp_aggregation_finish(&callers);
	return good;
}
