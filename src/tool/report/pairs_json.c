/* SPDX-License-Identifier: MIT */
/*
 *	"pairs": null where the file tells no lifetimes, or {
 *	  "complete": what was not freed is left out (--complete)
 *	  "all": PAIR, "rows": [PAIR], "rows_left_out", "rest": FIGURES of these}
 *
 * PAIR is {"allocated": PLACE, "end": "freed", "freed_somewhere" or "live", "freed": PLACE or null,
 * FIGURES, "freed_by_another": {"bytes": SHARE, "objects": SHARE}, where it is known
 * "freed_on_another_processor" likewise, "median_s": {"bytes", "objects"} of {"estimate", "low",
 * "high"}}, or with --age-bytes "median_bytes"; PLACE is {"name"} or {"stack": frames}; FIGURES are
 * "samples", "bytes" and "objects". The PAIR of all has no places and no end.
 */
#include "report/pairs.h"

#include "aggregation/views/pairs.h"
#include "text/json_values.h"

static void write_place(struct bp_json *json, const char *key, const struct bp_profile *profile,
	const struct bp_row *row)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	if (row->name != NULL)
		bp_json_text(json, "name", row->name);
	else
		bp_json_frames(json, "stack", profile, row->frames, row->frame_count);
	bp_json_end(json);
}

static void write_places(
	struct bp_json *json, const struct bp_aggregation *aggregation, const struct bp_pair *pair)
{
	static const char *const ends[] = { [BP_PAIR_FREED] = "freed",
		[BP_PAIR_FREED_SOMEWHERE] = "freed_somewhere",
		[BP_PAIR_LIVE] = "live" };
	struct bp_row row;
	bp_aggregation_row(aggregation, pair->row, &row);
	write_place(json, "allocated", aggregation->profile, &row);
	bp_json_text(json, "end", ends[pair->end]);
	row = (struct bp_row){ .name = pair->freed_name,
		.frames = pair->freed_frames,
		.frame_count = pair->freed_frame_count };
	if (pair->end == BP_PAIR_FREED)
		write_place(json, "freed", aggregation->profile, &row);
	else
		bp_json_null(json, "freed");
}

static void write_figures(struct bp_json *json, const struct bp_row *figures)
{
	bp_json_whole(json, "samples", figures->samples);
	bp_json_figures(json, &figures->bytes, &figures->objects);
}

static void write_pair(struct bp_json *json, const char *key,
	const struct bp_aggregation *aggregation, const struct bp_pair *pair,
	const struct bp_pairs *of)
{
	const bool in_bytes = of->unit == BP_AGE_BYTES;
	const double scale = in_bytes ? 1 : 1e9;
	bp_json_object(json, key, BP_JSON_SPACED);
	if (pair->row != UINT32_MAX)
		write_places(json, aggregation, pair);
	write_figures(json, &pair->figures);
	bp_json_object(json, "freed_by_another", BP_JSON_SPACED);
	bp_json_figures(json, &pair->bytes.by_another, &pair->objects.by_another);
	bp_json_end(json);
	if (of->processors) {
		bp_json_object(json, "freed_on_another_processor", BP_JSON_SPACED);
		bp_json_figures(json, &pair->bytes.on_another, &pair->objects.on_another);
		bp_json_end(json);
	}
	bp_json_object(json, in_bytes ? "median_bytes" : "median_s", BP_JSON_SPACED);
	bp_json_interval(json, "bytes", &pair->bytes.median, scale);
	bp_json_interval(json, "objects", &pair->objects.median, scale);
	bp_json_end(json);
	bp_json_end(json);
}

bool bp_json_pairs(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct bp_error *error)
{
	struct bp_pairs pairs;
	if (!bp_pairs_make(aggregation, options->rows, options->complete,
		    options->age_bytes ? BP_AGE_BYTES : BP_AGE_NS, &pairs, error))
		return false;
	if (!pairs.known) {
		bp_json_null(json, "pairs");
		return true;
	}
	bp_json_object(json, "pairs", BP_JSON_LINES);
	bp_json_bool(json, "complete", options->complete);
	write_pair(json, "all", aggregation, &pairs.all, &pairs);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < pairs.count; i++)
		write_pair(json, NULL, aggregation, &pairs.pairs[i], &pairs);
	bp_json_end(json);
	bp_json_whole(json, "rows_left_out", pairs.left_out);
	bp_json_object(json, "rest", BP_JSON_SPACED);
	write_figures(json, &pairs.rest.figures);
	bp_json_end(json);
	bp_json_end(json);
	bp_pairs_finish(&pairs);
	return true;
}
