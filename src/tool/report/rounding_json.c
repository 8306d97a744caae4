/* SPDX-License-Identifier: MIT */
/*
 *	"rounding": {
 *	  "in_slots": of some small objects it is what the allocator gives for a request alone
 *	  "all": FIGURES,
 *	  "rows": [{"name" or "stack", FIGURES}], "rows_left_out",     those that lose most first
 *	  "sizes": [{"size", "usable", "advice", "instead", "saved_each", FIGURES, "saved": FIGURE}],
 *	  "sizes_left_out"}
 *
 * FIGURES are the members "samples", "unknown_samples", "lost", "share", "asked" and "objects", of
 * which the last four are figures, and "share" is from 0 to 1. "usable" is null where it is not
 * known what a request of that size gets, "instead" and "saved_each" where there is no advice.
 */
#include "report/rounding.h"

#include "aggregation/views/rounding.h"
#include "text/json_values.h"

static void write_figures(struct bp_json *json, const struct bp_rounding_figures *figures)
{
	bp_json_whole(json, "samples", figures->samples);
	bp_json_whole(json, "unknown_samples", figures->unknown_samples);
	bp_json_figure(json, "lost", &figures->lost, 1);
	bp_json_figure(json, "share", &figures->share, 1);
	bp_json_figure(json, "asked", &figures->asked, 1);
	bp_json_figure(json, "objects", &figures->objects, 1);
}

static void write_row(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_rounding_row *of)
{
	struct bp_row row;
	bp_aggregation_row(aggregation, of->row, &row);
	bp_json_object(json, NULL, BP_JSON_SPACED);
	if (row.name != NULL)
		bp_json_text(json, "name", row.name);
	else
		bp_json_frames(json, "stack", aggregation->profile, row.frames, row.frame_count);
	write_figures(json, &of->figures);
	bp_json_end(json);
}

static void write_whole(struct bp_json *json, const char *name, uint64_t value)
{
	if (value == 0)
		bp_json_null(json, name);
	else
		bp_json_whole(json, name, value);
}

static void write_size(struct bp_json *json, const struct bp_rounding_size *size)
{
	static const char *const kinds[] = { [BP_ADVICE_UNKNOWN] = "unknown",
		[BP_ADVICE_FITS] = "fits",
		[BP_ADVICE_LESS] = "less",
		[BP_ADVICE_PERHAPS_LESS] = "perhaps-less",
		[BP_ADVICE_MORE] = "more" };
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_whole(json, "size", size->size);
	write_whole(json, "usable", size->advice.usable);
	bp_json_text(json, "advice",
		size->several_allocators ? "several-allocators"
		: size->aligned		 ? "aligned"
					 : kinds[size->advice.kind]);
	write_whole(json, "instead", size->advice.instead);
	write_whole(json, "saved_each", size->advice.saved);
	write_figures(json, &size->figures);
	bp_json_figure(json, "saved", &size->saved, 1);
	bp_json_end(json);
}

bool bp_json_rounding(struct bp_json *json, const struct bp_aggregation *aggregation,
	uint32_t shown, struct bp_error *error)
{
	struct bp_rounding rounding;
	if (!bp_rounding_make(aggregation, shown, &rounding, error))
		return false;
	bp_json_object(json, "rounding", BP_JSON_LINES);
	bp_json_bool(json, "in_slots", rounding.in_slots);
	bp_json_object(json, "all", BP_JSON_SPACED);
	write_figures(json, &rounding.all);
	bp_json_end(json);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < rounding.row_count; i++)
		write_row(json, aggregation, &rounding.rows[i]);
	bp_json_end(json);
	bp_json_whole(json, "rows_left_out", rounding.rows_left_out);
	bp_json_array(json, "sizes", BP_JSON_LINES);
	for (uint32_t i = 0; i < rounding.size_count; i++)
		write_size(json, &rounding.sizes[i]);
	bp_json_end(json);
	bp_json_whole(json, "sizes_left_out", rounding.sizes_left_out);
	bp_json_end(json);
	bp_rounding_finish(&rounding);
	return true;
}
