/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): two profiles of kind
 * "sampled", bytes and objects, each with its total and interval in its name. A frame is a function
 * of a file: speedscope takes every frame for a function of its own, so that lines would take
 * functions apart. Written in two passes over the entries, frames first.
 */
#include <stdlib.h>

#include "profile/entries.h"
#include "report/escape.h"
#include "report/export.h"
#include "report/function_table.h"

struct speedscope {
	const struct bp_aggregation *aggregation;
	struct bp_entries entries;
	struct bp_function_table functions;
	FILE *out;
};

static void write_string(
	const struct speedscope *to, const char *before, struct bp_string_id string)
{
	fputs(before, to->out);
	bp_write_json_string(to->out, bp_profile_text(to->aggregation->profile, string));
}

static void write_frames(const struct speedscope *to)
{
	fputs("\"shared\":{\"frames\":[{\"name\":\"" BP_EXPORT_NO_STACK "\"}", to->out);
	for (uint32_t i = 0; i < to->functions.count; i++) {
		const struct bp_function *function = &to->functions.items[i];
		write_string(to, ",\n{\"name\":", function->name);
		if (function->file.i != 0)
			write_string(to, ",\"file\":", function->file);
		putc('}', to->out);
	}
	fputs("\n]}", to->out);
}

static void write_stack(const struct speedscope *to, struct bp_stack_id stack, const char *before)
{
	uint32_t count;
	const struct bp_frame_id *frames = bp_entry_frames(to->aggregation, stack, &count);
	fprintf(to->out, "%s[", before);
	if (count == 0)
		putc('0', to->out);
	for (uint32_t i = count; i-- > 0;)
		fprintf(to->out, "%u%s", to->functions.of_frame[frames[i].i] + 1, i > 0 ? "," : "");
	putc(']', to->out);
}

static double value_of(const struct bp_entry *entry, bool objects)
{
	return objects ? entry->metrics[0].objects : entry->metrics[0].bytes;
}

/* The rounding is the same in all three passes. */
static void write_profile(const struct speedscope *to, bool objects)
{
	struct bp_rounding sum = { 0 }, stacks = { 0 }, weights = { 0 };
	char line[BP_EXPORT_LINE_BYTES];
	const char *between = "\n";
	bp_export_total_line(to->aggregation, to->aggregation->query.metric, line);
	for (uint32_t i = 0; i < to->entries.count; i++)
		bp_round_next(&sum, value_of(&to->entries.items[i], objects));
	fputs("{\"type\":\"sampled\",\"name\":", to->out);
	char name[BP_EXPORT_LINE_BYTES + 16];
	snprintf(name, sizeof name, "%s, %s", objects ? "objects" : "bytes", line);
	bp_write_json_string(to->out, name);
	fprintf(to->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%lld,\n\"samples\":[",
		objects ? "none" : "bytes", (long long)sum.given);
	for (uint32_t i = 0; i < to->entries.count; i++) {
		if (bp_round_next(&stacks, value_of(&to->entries.items[i], objects)) == 0)
			continue;
		write_stack(to, to->entries.items[i].stack, between);
		between = ",\n";
	}
	fputs("],\n\"weights\":[", to->out);
	between = "";
	for (uint32_t i = 0; i < to->entries.count; i++) {
		long long value = bp_round_next(&weights, value_of(&to->entries.items[i], objects));
		if (value == 0)
			continue;
		fprintf(to->out, "%s%lld", between, value);
		between = ",";
	}
	fputs("]}", to->out);
}

static bool write_speedscope(
	const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct speedscope to = { .aggregation = source->asked, .out = out };
	const struct bp_profile *profile = source->profile;
	if (!bp_entries_build(
		    &to.aggregation, 1, (struct bp_entry_options){ 0 }, &to.entries, error))
		return false;
	bp_export_sort(to.aggregation, &to.entries);
	bool good = bp_function_table_init(&to.functions, to.aggregation, &to.entries, error);
	if (good) {
		fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n",
			out);
		fputs("\"exporter\":\"bytepoll@" BP_VERSION "\",\n\"name\":", out);
		bp_write_json_string(
			out, bp_process_name(
				     profile, &profile->processes.data[to.aggregation->subject.i]));
		fputs(",\n\"activeProfileIndex\":0,\n", out);
		write_frames(&to);
		fputs(",\n\"profiles\":[\n", out);
		write_profile(&to, false);
		fputs(",\n", out);
		write_profile(&to, true);
		fputs("\n]}\n", out);
	}
	bp_function_table_finish(&to.functions);
	bp_entries_finish(&to.entries);
	return good;
}

const struct bp_export bp_export_speedscope = { .name = "speedscope",
	.description = "JSON for speedscope.app: bytes and objects",
	.one_moment = true,
	.write = write_speedscope };
