/* SPDX-License-Identifier: MIT */
/* The check as one JSON object, schema bytepoll-verify-1: fields may be added, never changed. */
#include "base/attributes.h"
#include "report/verify/verify_report.h"
#include "text/json_values.h"

#define INDENT 5 /* of the lines of a process or group but its first */

static const char *const unit_names[BP_VERIFY_UNITS] = { "bytes", "objects" };
static const char *const verdict_names[] = { "good", "assumed", "bad", "unsure" };

static void write_units(struct bp_json *json, const struct bp_verify_figure *figures)
{
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++) {
		const struct bp_verify_figure *figure = &figures[unit];
		bp_json_object(json, unit_names[unit], BP_JSON_SPACED);
		bp_json_interval_members(json, &figure->shown.interval, 1);
		if (figure->shown.interval.exact)
			bp_json_bool(json, "exact", true);
		bp_json_whole(json, "truth", figure->truth);
		bp_json_bool(json, "held", figure->held);
		bp_json_end(json);
	}
}

static void write_verify_sums(
	struct bp_json *json, const struct bp_process_verify_sums *verify_sums)
{
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "allocated_bytes", verify_sums->allocated_bytes },
		{ "allocated_objects", verify_sums->allocated_objects },
		{ "freed_bytes", verify_sums->freed_bytes },
		{ "freed_objects", verify_sums->freed_objects },
		{ "nested_objects", verify_sums->nested_objects },
		{ "uncounted_objects", verify_sums->uncounted_objects },
		{ "failed_objects", verify_sums->failed_objects },
		{ "unknown_frees", verify_sums->unknown_frees },
		{ "missed_frees", verify_sums->missed_frees },
	};
	bp_json_object(json, "census", BP_JSON_SPACED);
	for (size_t i = 0; i < BP_COUNT(fields); i++)
		bp_json_whole(json, fields[i].name, fields[i].value);
	bp_json_end(json);
}

static void write_process(struct bp_json *json, const struct bp_verify_process *process)
{
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_text(json, "program", process->program);
	bp_json_whole(json, "pid", process->pid);
	bp_json_bool(json, "ended", process->ended);
	bp_json_whole(json, "samples", process->samples);
	bp_json_whole(json, "interval", process->interval);
	bp_json_whole(json, "size_min", process->size_min);
	bp_json_whole(json, "smallest", process->smallest);
	bp_json_break(json, INDENT);
	write_verify_sums(json, &process->verify_sums);
	bp_json_break(json, INDENT);
	bp_json_object(json, "totals", BP_JSON_SPACED);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		bp_json_break(json, INDENT + 1);
		bp_json_object(json, bp_metric_names[metric], BP_JSON_SPACED);
		write_units(json, process->totals[metric]);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_break(json, INDENT);
	bp_json_object(json, "allocated_by_samples", BP_JSON_SPACED);
	write_units(json, process->by_samples);
	bp_json_end(json);
	bp_json_end(json);
}

static void write_list(struct bp_json *json, const char *name, const struct bp_verify_list *list)
{
	bp_json_break(json, INDENT);
	bp_json_array(json, name, BP_JSON_SPACED);
	for (uint32_t i = 0; i < list->count; i++) {
		bp_json_break(json, INDENT + 1);
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_text(json, "name", list->rows[i].name);
		bp_json_whole(json, "pid", list->rows[i].pid);
		bp_json_whole(json, "samples", list->rows[i].samples);
		write_units(json, list->rows[i].units);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_tally(struct bp_json *json, const char *name, const struct bp_verify_tally *tally)
{
	bp_json_break(json, INDENT);
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_whole(json, "figures", tally->figures);
	bp_json_whole(json, "unsampled", tally->unsampled);
	bp_json_whole(json, "held", tally->held);
	bp_json_fixed(json, "misses_expected_at_most", tally->chance, 3);
	bp_json_whole(json, "misses_allowed", tally->misses_allowed);
	bp_json_bool(json, "good", tally->good);
	bp_json_end(json);
}

static void write_group(struct bp_json *json, const struct bp_verify_group *group)
{
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_text(json, "metric", bp_metric_names[group->metric]);
	bp_json_text(json, "by", bp_key_names[group->by]);
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
		write_tally(json, unit_names[unit], &group->units[unit]);
	write_tally(json, "objects_informed", &group->informed);
	write_list(json, "missed", &group->missed);
	write_list(json, "errors", &group->errors);
	bp_json_end(json);
}

void bp_verify_write_json(const struct bp_verify *truth, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-verify-1");
	bp_json_text(&json, "verdict", verdict_names[truth->verdict]);
	bp_json_digits(&json, "confidence", truth->query.confidence, 12);
	bp_json_digits(&json, "error", truth->error, 10);
	bp_json_whole(&json, "tests", truth->tests);
	bp_json_whole(&json, "totals_missed", truth->totals_missed);
	bp_json_whole(&json, "totals_assumed", truth->totals_assumed);
	bp_json_whole(&json, "counts_wrong", truth->counts_wrong);
	bp_json_array(&json, "processes", BP_JSON_SPACED);
	for (uint32_t i = 0; i < truth->process_count; i++) {
		bp_json_break(&json, INDENT - 1);
		write_process(&json, &truth->processes[i]);
	}
	bp_json_end(&json);
	bp_json_array(&json, "groups", BP_JSON_SPACED);
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		bp_json_break(&json, INDENT - 1);
		write_group(&json, &truth->groups[i]);
	}
	bp_json_end(&json);
	bp_json_end_document(&json);
}
