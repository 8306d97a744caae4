/* SPDX-License-Identifier: MIT */
/* See json_values.h. All stand on one line, with blanks, wherever they stand. */
#include "text/json_values.h"

#include <math.h>

#include "query/filter.h"

void bp_json_name(struct bp_json *json, const char *key, const struct bp_profile *profile,
	struct bp_string_id id)
{
	bp_json_text(json, key, bp_profile_text(profile, id));
}

void bp_json_interval_members(
	struct bp_json *json, const struct bp_interval *interval, double divisor)
{
	bp_json_number(json, "estimate", interval->unknown ? NAN : interval->estimate / divisor);
	bp_json_number(json, "low", interval->low / divisor);
	bp_json_number(json, "high", interval->high / divisor);
}

void bp_json_interval(
	struct bp_json *json, const char *key, const struct bp_interval *interval, double divisor)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	bp_json_interval_members(json, interval, divisor);
	bp_json_end(json);
}

void bp_json_figure(
	struct bp_json *json, const char *key, const struct bp_figure *figure, double divisor)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	bp_json_interval_members(json, &figure->interval, divisor);
	if (figure->interval.exact)
		bp_json_bool(json, "exact", true);
	if (figure->lower_bound)
		bp_json_bool(json, "lower_bound", true);
	if (figure->upper_bound)
		bp_json_bool(json, "upper_bound", true);
	bp_json_end(json);
}

void bp_json_figures(
	struct bp_json *json, const struct bp_figure *bytes, const struct bp_figure *objects)
{
	bp_json_figure(json, "bytes", bytes, 1);
	bp_json_figure(json, "objects", objects, 1);
}

void bp_json_limits(struct bp_json *json, const char *key, uint64_t low, uint64_t high)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	bp_json_whole(json, "low", low);
	bp_json_whole(json, "high", high);
	bp_json_end(json);
}

void bp_json_frames(struct bp_json *json, const char *key, const struct bp_profile *profile,
	const struct bp_frame_id *frames, uint32_t count)
{
	bp_json_array(json, key, BP_JSON_SPACED);
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_frame *frame = &profile->frames.data[frames[i].i];
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_name(json, "function", profile, frame->function);
		bp_json_name(json, "file", profile, frame->source_file);
		bp_json_whole(json, "line", frame->line);
		bp_json_name(json, "module", profile, profile->modules.data[frame->module.i].path);
		bp_json_bool(json, "inlined", frame->inlined);
		bp_json_end(json);
	}
	bp_json_end(json);
}

void bp_json_texts(struct bp_json *json, const char *key, char *const *texts)
{
	bp_json_array(json, key, BP_JSON_SPACED);
	for (; *texts != NULL; texts++)
		bp_json_text(json, NULL, *texts);
	bp_json_end(json);
}

void bp_json_filters(struct bp_json *json, const struct bp_query *query)
{
	bp_json_array(json, "filters", BP_JSON_SPACED);
	for (uint32_t i = 0; i < query->filter_count; i++)
		bp_json_text(json, NULL, query->filters[i].text);
	bp_json_end(json);
}
