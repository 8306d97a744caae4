/* SPDX-License-Identifier: MIT */
/*
 *	"pages": {
 *	  "at": seconds, "pid",
 *	  "heap": {"resident_bytes", "held_bytes", "alone_bytes", "live_bytes", "free_beside_live_bytes"},
 *	  "samples_elsewhere",
 *	  "all": FIGURES,
 *	  "rows": [{"name" or "stack", FIGURES}]}
 *
 * FIGURES are "samples", "kept", "own", "alone", "touched" (each estimate, low, high),
 * "seen_alone_bytes" and "free_without": {"low", "high"}.
 */
#include "report/pages_json.h"

#include "text/json_values.h"

static void write_figures(struct bp_json *json, const struct bp_keeper_figures *figures)
{
	bp_json_whole(json, "samples", figures->samples);
	bp_json_interval(json, "kept", &figures->kept, 1);
	bp_json_interval(json, "own", &figures->own, 1);
	bp_json_interval(json, "alone", &figures->alone, 1);
	bp_json_interval(json, "touched", &figures->touched, 1);
	bp_json_whole(json, "seen_alone_bytes", figures->seen_alone);
	bp_json_object(json, "free_without", BP_JSON_SPACED);
	bp_json_number(json, "low", figures->free_least);
	bp_json_number(json, "high", figures->free_most);
	bp_json_end(json);
}

static void write_row(
	struct bp_json *json, const struct bp_keepers *keepers, const struct bp_keeper *keeper)
{
	struct bp_row row;
	bp_aggregation_row(&keepers->aggregation, keeper->row, &row);
	bp_json_object(json, NULL, BP_JSON_SPACED);
	if (row.name != NULL)
		bp_json_text(json, "name", row.name);
	else
		bp_json_frames(
			json, "stack", keepers->aggregation.profile, row.frames, row.frame_count);
	write_figures(json, &keeper->figures);
	bp_json_end(json);
}

void bp_json_pages(struct bp_json *json, const struct bp_report_options *options)
{
	const struct bp_keepers *keepers = options->keepers;
	if (keepers == NULL)
		return;
	const uint32_t shown = keepers->count < options->rows ? keepers->count : options->rows;
	bp_json_object(json, "pages", BP_JSON_LINES);
	bp_json_seconds(json, "at", keepers->at_ns);
	bp_json_whole(json, "pid", keepers->pid);
	bp_json_object(json, "heap", BP_JSON_SPACED);
	bp_json_whole(json, "resident_bytes", keepers->heap.resident);
	bp_json_whole(json, "held_bytes", keepers->heap.held);
	bp_json_whole(json, "alone_bytes", keepers->heap.sole);
	bp_json_whole(json, "live_bytes", keepers->heap.live);
	bp_json_whole(json, "free_beside_live_bytes", keepers->heap.beside);
	bp_json_end(json);
	bp_json_whole(json, "samples_elsewhere", keepers->elsewhere);
	bp_json_object(json, "all", BP_JSON_SPACED);
	write_figures(json, &keepers->all);
	bp_json_end(json);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < shown; i++)
		write_row(json, keepers, &keepers->keepers[i]);
	bp_json_end(json);
	bp_json_end(json);
}
