/* SPDX-License-Identifier: MIT */
/* The check as one JSON object, schema bytepoll-verify-1: fields may be added, never changed. */
#include <inttypes.h>
#include <math.h>

#include "report/escape.h"
#include "report/json_values.h"
#include "report/verify.h"

static const char *const unit_names[BP_TRUTH_UNITS] = { "bytes", "objects" };
static const char *const verdict_names[] = { "good", "assumed", "bad", "unsure" };

static void write_figure(FILE *out, const struct bp_truth_figure *figure)
{
	const struct bp_interval *interval = &figure->shown.interval;
	bp_write_json_interval(out, interval, 1);
	fprintf(out, "%s, \"truth\": %" PRIu64 ", \"held\": %s}",
		interval->exact ? ", \"exact\": true" : "", figure->truth,
		figure->held ? "true" : "false");
}

static void write_units(FILE *out, const struct bp_truth_figure *figures)
{
	for (int unit = 0; unit < BP_TRUTH_UNITS; unit++) {
		fprintf(out, "%s\"%s\": ", unit > 0 ? ", " : "", unit_names[unit]);
		write_figure(out, &figures[unit]);
	}
}

static void write_census(FILE *out, const struct bp_process_census *census)
{
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "allocated_bytes", census->allocated_bytes },
		{ "allocated_objects", census->allocated_objects },
		{ "freed_bytes", census->freed_bytes },
		{ "freed_objects", census->freed_objects },
		{ "nested_objects", census->nested_objects },
		{ "uncounted_objects", census->uncounted_objects },
		{ "failed_objects", census->failed_objects },
		{ "unknown_frees", census->unknown_frees },
		{ "missed_frees", census->missed_frees },
	};
	fputs("\"census\": {", out);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", fields[i].name,
			fields[i].value);
	putc('}', out);
}

static void write_process(FILE *out, const struct bp_truth_process *process)
{
	fputs("    {\"program\": ", out);
	bp_write_json_string(out, process->program);
	fprintf(out,
		", \"pid\": %u, \"ended\": %s, \"samples\": %" PRIu64 ", \"interval\": %" PRIu64
		", \"size_min\": %" PRIu64 ", \"smallest\": %" PRIu64 ",\n     ",
		process->pid, process->ended ? "true" : "false", process->samples,
		process->interval, process->size_min, process->smallest);
	write_census(out, &process->census);
	fputs(",\n     \"totals\": {", out);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		fprintf(out, "%s\n      \"%s\": {", metric > 0 ? "," : "", bp_metric_names[metric]);
		write_units(out, process->totals[metric]);
		putc('}', out);
	}
	fputs("},\n     \"allocated_by_samples\": {", out);
	write_units(out, process->by_samples);
	fputs("}}", out);
}

static void write_list(FILE *out, const char *name, const struct bp_truth_list *list)
{
	fprintf(out, ",\n     \"%s\": [", name);
	for (uint32_t i = 0; i < list->count; i++) {
		fprintf(out, "%s\n      {\"name\": ", i > 0 ? "," : "");
		bp_write_json_string(out, list->rows[i].name);
		fprintf(out, ", \"pid\": %u, \"samples\": %" PRIu64 ", ", list->rows[i].pid,
			list->rows[i].samples);
		write_units(out, list->rows[i].units);
		putc('}', out);
	}
	putc(']', out);
}

static void write_group(FILE *out, const struct bp_truth_group *group)
{
	fprintf(out, "    {\"metric\": \"%s\", \"by\": \"%s\"", bp_metric_names[group->metric],
		bp_key_names[group->by]);
	for (int unit = 0; unit <= BP_TRUTH_UNITS; unit++) {
		const struct bp_truth_tally *tally =
			unit < BP_TRUTH_UNITS ? &group->units[unit] : &group->informed;
		fprintf(out,
			",\n     \"%s\": {\"figures\": %" PRIu64 ", \"unsampled\": %" PRIu64
			", \"held\": %" PRIu64 ", \"misses_expected_at_most\": %.3f"
			", \"misses_allowed\": %" PRIu64 ", \"good\": %s}",
			unit < BP_TRUTH_UNITS ? unit_names[unit] : "objects_informed",
			tally->figures, tally->unsampled, tally->held, tally->chance,
			tally->misses_allowed, tally->good ? "true" : "false");
	}
	write_list(out, "missed", &group->missed);
	write_list(out, "errors", &group->errors);
	putc('}', out);
}

void bp_verify_write_json(const struct bp_truth *truth, FILE *out)
{
	fprintf(out, "{\n  \"schema\": \"bytepoll-verify-1\",\n  \"verdict\": \"%s\",\n",
		verdict_names[truth->verdict]);
	fprintf(out, "  \"confidence\": %.10g,\n  \"error\": %.10g,\n  \"tests\": %u,\n",
		truth->query.confidence, truth->error, truth->tests);
	fprintf(out,
		"  \"totals_missed\": %u,\n  \"totals_assumed\": %u,\n  \"counts_wrong\": %u,\n",
		truth->totals_missed, truth->totals_assumed, truth->counts_wrong);
	fputs("  \"processes\": [", out);
	for (uint32_t i = 0; i < truth->process_count; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		write_process(out, &truth->processes[i]);
	}
	fputs("],\n  \"groups\": [", out);
	for (int i = 0; i < BP_TRUTH_GROUPS; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		write_group(out, &truth->groups[i]);
	}
	fputs("]\n}\n", out);
}
