/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): two profiles of kind
 * "sampled", bytes and objects, each with its total and interval in its name. A frame is a function
 * of a file: speedscope takes every frame for a function of its own, so that lines would take
 * functions apart. Written in two passes over the entries, frames first.
 */
#include <stdlib.h>

#include "aggregation/views/entries.h"
#include "export/export.h"
#include "export/function_table.h"
#include "text/json_writer.h"

struct speedscope {
	const struct bp_aggregation *aggregation;
	struct bp_entries entries;
	struct bp_function_table functions;
	struct bp_json json;
};

static void write_name(struct speedscope *to, const char *key, struct bp_string_id string)
{
	bp_json_text(&to->json, key, bp_profile_text(to->aggregation->profile, string));
}

static void write_frames(struct speedscope *to)
{
	struct bp_json *json = &to->json;
	bp_json_object(json, "shared", BP_JSON_COMPACT);
	bp_json_array(json, "frames", BP_JSON_ROWS);
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, "name", BP_EXPORT_NO_STACK);
	bp_json_end(json);
	for (uint32_t i = 0; i < to->functions.count; i++) {
		const struct bp_function *function = &to->functions.items[i];
		bp_json_object(json, NULL, BP_JSON_COMPACT);
		write_name(to, "name", function->name);
		if (function->file.i != 0)
			write_name(to, "file", function->file);
		bp_json_end(json);
	}
	bp_json_break(json, 0);
	bp_json_end(json);
	bp_json_end(json);
}

static void write_stack(struct speedscope *to, struct bp_stack_id stack)
{
	uint32_t count;
	const struct bp_frame_id *frames = bp_entry_frames(to->aggregation, stack, &count);
	bp_json_break(&to->json, 0);
	bp_json_array(&to->json, NULL, BP_JSON_COMPACT);
	if (count == 0)
		bp_json_whole(&to->json, NULL, 0);
	for (uint32_t i = count; i-- > 0;)
		bp_json_whole(&to->json, NULL, to->functions.of_frame[frames[i].i] + 1);
	bp_json_end(&to->json);
}

static double value_of(const struct bp_entry *entry, bool objects)
{
	return objects ? entry->metrics[0].objects : entry->metrics[0].bytes;
}

/* The rounding is the same in all three passes. */
static void write_profile(struct speedscope *to, bool objects)
{
	struct bp_json *json = &to->json;
	struct bp_rounding sum = { 0 }, stacks = { 0 }, weights = { 0 };
	char line[BP_EXPORT_LINE_BYTES], name[BP_EXPORT_LINE_BYTES + 16];
	bp_export_total_line(to->aggregation, to->aggregation->query.metric, line);
	snprintf(name, sizeof name, "%s, %s", objects ? "objects" : "bytes", line);
	for (uint32_t i = 0; i < to->entries.count; i++)
		bp_round_next(&sum, value_of(&to->entries.items[i], objects));
	bp_json_break(json, 0);
	bp_json_object(json, NULL, BP_JSON_COMPACT);
	bp_json_text(json, "type", "sampled");
	bp_json_text(json, "name", name);
	bp_json_text(json, "unit", objects ? "none" : "bytes");
	bp_json_whole(json, "startValue", 0);
	bp_json_signed(json, "endValue", (int64_t)sum.given);
	bp_json_break(json, 0);
	bp_json_array(json, "samples", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < to->entries.count; i++)
		if (bp_round_next(&stacks, value_of(&to->entries.items[i], objects)) != 0)
			write_stack(to, to->entries.items[i].stack);
	bp_json_end(json);
	bp_json_break(json, 0);
	bp_json_array(json, "weights", BP_JSON_COMPACT);
	for (uint32_t i = 0; i < to->entries.count; i++) {
		const long long value =
			bp_round_next(&weights, value_of(&to->entries.items[i], objects));
		if (value != 0)
			bp_json_signed(json, NULL, value);
	}
	bp_json_end(json);
	bp_json_end(json);
}

static void write_all(struct speedscope *to)
{
	struct bp_json *json = &to->json;
	const struct bp_profile *profile = to->aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[to->aggregation->subject.i];
	bp_json_object(json, NULL, BP_JSON_ROWS);
	bp_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	bp_json_text(json, "exporter", "bytepoll@" BP_VERSION);
	bp_json_text(json, "name", bp_process_name(profile, subject));
	bp_json_whole(json, "activeProfileIndex", 0);
	write_frames(to);
	bp_json_array(json, "profiles", BP_JSON_COMPACT);
	write_profile(to, false);
	write_profile(to, true);
	bp_json_break(json, 0);
	bp_json_end(json);
	bp_json_end_document(json);
}

static bool write_speedscope(
	const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct speedscope to = { .aggregation = source->asked, .json = bp_json_begin(out) };
	if (!bp_entries_build(
		    &to.aggregation, 1, (struct bp_entry_options){ 0 }, &to.entries, error))
		return false;
	bp_export_sort(to.aggregation, &to.entries);
	bool good = bp_function_table_init(&to.functions, to.aggregation, &to.entries, error);
	if (good)
		write_all(&to);
	bp_function_table_finish(&to.functions);
	bp_entries_finish(&to.entries);
	return good;
}

const struct bp_export bp_export_speedscope = { .name = "speedscope",
	.keeps_allocators = true,
	.one_moment = true,
	.mapped = true,
	.write = write_speedscope };
