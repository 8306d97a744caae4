/* SPDX-License-Identifier: MIT */
/*
 *	"stats": {
 *	  "sizes": [{"low", "high", "allocated": AMOUNT, "live": AMOUNT}],      sizes with a sample
 *	  "unseen": FIGURE,                      bytes that a range without a sample may hold
 *	  "lifetimes": null where the file does not tell, or {"resolution_s",
 *	    "freed": AMOUNT, "still_live": AMOUNT,
 *	    "ranges": [{"low_s", "high_s", "freed": AMOUNT, "still_live": AMOUNT}]},
 *	  "rates": [{"from_s", "to_s", "allocated": AMOUNT, "bytes_per_s": FIGURE, "objects_per_s": FIGURE}]}
 *
 * AMOUNT is {"samples", "bytes": FIGURE, "objects": FIGURE}. The largest sizes are the rows, which
 * are by size. `high_s` of the last range is null.
 */
#include "report/stats.h"

#include <math.h>

#include "aggregation/views/distribution.h"
#include "text/json_values.h"

#define TIMES 100

static void write_amount(struct bp_json *json, const char *name, const struct bp_amount *amount)
{
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_whole(json, "samples", amount->samples);
	bp_json_figures(json, &amount->bytes, &amount->objects);
	bp_json_end(json);
}

static void write_sizes(struct bp_json *json, const struct bp_distribution *distribution)
{
	bp_json_break(json, 4);
	bp_json_array(json, "sizes", BP_JSON_TALL);
	for (unsigned i = 0; i < BP_SIZE_RANGES; i++) {
		const struct bp_size_range *range = &distribution->sizes[i];
		if (range->allocated.samples == 0)
			continue;
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_whole(json, "low", range->low);
		bp_json_whole(json, "high", range->high);
		write_amount(json, "allocated", &range->allocated);
		write_amount(json, "live", &range->live);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_break(json, 4);
	bp_json_figure(json, "unseen", &distribution->unseen, 1);
}

static void write_ages(struct bp_json *json, const struct bp_distribution *distribution)
{
	bp_json_break(json, 4);
	if (!distribution->ages_known) {
		bp_json_null(json, "lifetimes");
		return;
	}
	bp_json_object(json, "lifetimes", BP_JSON_SPACED);
	bp_json_seconds(json, "resolution_s", distribution->age_resolution_ns);
	write_amount(json, "freed", &distribution->freed);
	write_amount(json, "still_live", &distribution->censored);
	bp_json_break(json, 6);
	bp_json_array(json, "ranges", BP_JSON_LINES);
	for (unsigned i = 0; i < BP_AGE_RANGES; i++) {
		const struct bp_age_range *range = &distribution->ages[i];
		const bool open = range->high_ns == BP_TIME_NEVER;
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_number(json, "low_s", (double)range->low_ns / 1e9);
		bp_json_number(json, "high_s", open ? NAN : (double)range->high_ns / 1e9);
		write_amount(json, "freed", &range->freed);
		write_amount(json, "still_live", &range->censored);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_end(json);
}

static void write_times(struct bp_json *json, const struct bp_distribution *distribution)
{
	bp_json_break(json, 4);
	bp_json_array(json, "rates", BP_JSON_TALL);
	for (uint32_t i = 0; distribution->times_known && i < distribution->time_count; i++) {
		const struct bp_time_range *range = &distribution->times[i];
		const double seconds = (double)(range->high_ns - range->low_ns) / 1e9;
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_seconds(json, "from_s", range->low_ns);
		bp_json_seconds(json, "to_s", range->high_ns);
		write_amount(json, "allocated", &range->allocated);
		if (seconds > 0) {
			bp_json_figure(json, "bytes_per_s", &range->allocated.bytes, seconds);
			bp_json_figure(json, "objects_per_s", &range->allocated.objects, seconds);
		}
		bp_json_end(json);
	}
	bp_json_end(json);
}

bool bp_json_stats(
	struct bp_json *json, const struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_distribution distribution;
	if (!bp_distribution_make(aggregation, TIMES, &distribution, error))
		return false;
	bp_json_object(json, "stats", BP_JSON_SPACED);
	write_sizes(json, &distribution);
	write_ages(json, &distribution);
	write_times(json, &distribution);
	bp_json_end(json);
	bp_distribution_finish(&distribution);
	return true;
}
