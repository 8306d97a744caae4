/* SPDX-License-Identifier: MIT */
/*
 *	"lifetimes": null where the file does not tell, or {
 *	  "complete": only what was freed is in the figures (--complete)
 *	  "resolution_s", "longest_s",
 *	  "ages_s": [0.001, 0.01 ...],
 *	  "all": ROW, "rows": [ROW]}             the rows are those of the member "rows", in their order
 *
 * ROW is {"samples", "freed_samples", "thread_samples", "bytes": FIGURES, "objects": FIGURES},
 * FIGURES is {"freed_within": [SHARE], one for each age, "median_s": {"estimate", "low", "high"},
 * "freed_by_another": SHARE}. A SHARE is a figure from 0 to 1. null as the estimate of a share: no
 * object was seen as long as that; of a median and of its upper limit: not reached.
 *
 * With --age-bytes "longest_bytes", "ages_bytes" and "median_bytes" stand in place of those in
 * seconds, and "width_bytes" says to how much nine of ten ages are known; null: without an upper
 * limit.
 */
#include "report/lifetimes.h"

#include <math.h>

#include "aggregation/views/lifetimes.h"
#include "text/json_values.h"

static void write_figures(struct bp_json *json, const char *name,
	const struct bp_lifetime_figures *figures, const struct bp_lifetimes *of)
{
	const enum bp_age_unit unit = of->unit;
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_array(json, "freed_within", BP_JSON_SPACED);
	for (unsigned i = 0; i < BP_LIFETIME_AGES; i++)
		bp_json_figure(json, NULL, &figures->freed_within[i], 1);
	bp_json_end(json);
	bp_json_interval(json, unit == BP_AGE_BYTES ? "median_bytes" : "median_s", &figures->median,
		unit == BP_AGE_BYTES ? 1 : 1e9);
	bp_json_figure(json, "freed_by_another", &figures->by_another, 1);
	if (of->processors)
		bp_json_figure(json, "freed_on_another_processor", &figures->on_another, 1);
	bp_json_end(json);
}

static void write_row(struct bp_json *json, const char *name, const struct bp_row_lifetimes *row,
	const struct bp_lifetimes *of)
{
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_whole(json, "samples", row->samples);
	bp_json_whole(json, "freed_samples", row->freed);
	bp_json_whole(json, "thread_samples", row->threads);
	write_figures(json, "bytes", &row->bytes, of);
	write_figures(json, "objects", &row->objects, of);
	bp_json_end(json);
}

static void write_ages(struct bp_json *json, const struct bp_lifetimes *lifetimes)
{
	const bool in_bytes = lifetimes->unit == BP_AGE_BYTES;
	if (!in_bytes) {
		bp_json_seconds(json, "longest_s", lifetimes->longest);
	} else {
		bp_json_whole(json, "longest_bytes", lifetimes->longest);
		if (lifetimes->width == UINT64_MAX)
			bp_json_null(json, "width_bytes");
		else
			bp_json_whole(json, "width_bytes", lifetimes->width);
	}
	bp_json_array(json, in_bytes ? "ages_bytes" : "ages_s", BP_JSON_SPACED);
	for (unsigned i = 0; i < BP_LIFETIME_AGES; i++)
		bp_json_number(json, NULL,
			(double)bp_lifetime_ages[lifetimes->unit][i] / (in_bytes ? 1 : 1e9));
	bp_json_end(json);
}

bool bp_json_lifetimes(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t shown, struct bp_error *error)
{
	const enum bp_age_unit unit = options->age_bytes ? BP_AGE_BYTES : BP_AGE_NS;
	struct bp_lifetimes lifetimes;
	if (!bp_lifetimes_make(aggregation, shown, options->complete, unit, &lifetimes, error))
		return false;
	if (!lifetimes.known) {
		bp_json_null(json, "lifetimes");
		return true;
	}
	bp_json_object(json, "lifetimes", BP_JSON_LINES);
	bp_json_bool(json, "complete", options->complete);
	bp_json_seconds(json, "resolution_s", lifetimes.resolution_ns);
	write_ages(json, &lifetimes);
	write_row(json, "all", &lifetimes.all, &lifetimes);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < lifetimes.row_count; i++)
		write_row(json, NULL, &lifetimes.rows[i], &lifetimes);
	bp_json_end(json);
	bp_json_end(json);
	bp_lifetimes_finish(&lifetimes);
	return true;
}
