/* SPDX-License-Identifier: MIT */
/*
 *	"all": {"arena_bytes", "malloced": FIGURE, "mapped_bytes", "samples", "bytes": FIGURE,
 *	  "objects": FIGURE}
 *	"rows": [{"name" or "stack", "samples", "bytes": FIGURE, "objects": FIGURE,
 *	  "malloced": FIGURE, "mapped_bytes"}]
 *
 * "bytes" is the sum of "malloced" and "mapped_bytes", and "arena_bytes" are left out of it. All
 * rows are there; "rest" is nothing.
 */
#include "report/all.h"

#include "text/json_values.h"

static void write_figures(struct bp_json *json, const struct bp_all_row *row)
{
	bp_json_whole(json, "samples", row->samples);
	bp_json_figures(json, &row->bytes, &row->objects);
	bp_json_figure(json, "malloced", &row->malloced_bytes, 1);
	bp_json_whole(json, "mapped_bytes", (uint64_t)row->mapped_bytes);
}

static void write_row(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_aggregation *mapped, const struct bp_all_row *of)
{
	const struct bp_aggregation *named = of->malloced != UINT32_MAX ? aggregation : mapped;
	struct bp_row row;
	bp_aggregation_row(named, of->malloced != UINT32_MAX ? of->malloced : of->mapped, &row);
	bp_json_object(json, NULL, BP_JSON_SPACED);
	if (row.name != NULL)
		bp_json_text(json, "name", row.name);
	else
		bp_json_frames(json, "stack", named->profile, row.frames, row.frame_count);
	write_figures(json, of);
	bp_json_end(json);
}

bool bp_json_all(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct bp_error *error)
{
	const struct bp_figure nothing = { .interval = { 0, 0, 0, true, false } };
	struct bp_all all;
	if (!bp_all_make(aggregation, options->mapped, &all, error))
		return false;
	bp_json_object(json, "all", BP_JSON_SPACED);
	bp_json_whole(json, "arena_bytes", (uint64_t)all.arena_bytes);
	write_figures(json, &all.total);
	bp_json_end(json);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < all.row_count; i++)
		write_row(json, aggregation, options->mapped, &all.rows[i]);
	bp_json_end(json);
	bp_json_object(json, "rest", BP_JSON_SPACED);
	bp_json_whole(json, "samples", 0);
	bp_json_figures(json, &nothing, &nothing);
	bp_json_end(json);
	bp_json_whole(json, "rows_left_out", 0);
	bp_all_finish(&all);
	return true;
}
