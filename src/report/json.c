/* SPDX-License-Identifier: MIT */
/*
 * The report as one JSON object, for scripts; `schema` names the contract. Always valid UTF-8 and
 * valid JSON, whatever names the profile holds; numbers that are not known are null. A figure is
 * {estimate, low, high}, with "exact": true where it is known, and "lower_bound" or "upper_bound"
 * where samples or frees were lost. Times are seconds since the first process started. `rest` is
 * everything the rows leave out. Fields may be added under the same schema, never changed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/filter.h"
#include "report/escape.h"
#include "report/json_values.h"
#include "report/report.h"
#include "report/resident_text.h"
#include "report/stats.h"

static void write_text(FILE *out, const struct bp_profile *profile, struct bp_string_id id)
{
	bp_write_json_string(out, bp_profile_text(profile, id));
}

static void write_intervals(FILE *out, const struct bp_sampling *sampling)
{
	fputs("  \"intervals\": [", out);
	for (uint32_t i = 0; i < sampling->interval_count; i++)
		fprintf(out, "%s%llu", i > 0 ? ", " : "",
			(unsigned long long)sampling->intervals[i]);
	fputs("],\n", out);
}

static void write_known(FILE *out, struct bp_known_total total)
{
	if (total.low == total.high)
		fprintf(out, "{\"estimate\": %llu, \"low\": %llu, \"high\": %llu, \"exact\": true}",
			(unsigned long long)total.low, (unsigned long long)total.low,
			(unsigned long long)total.high);
	else
		fprintf(out, "{\"estimate\": null, \"low\": %llu, \"high\": ",
			(unsigned long long)total.low);
	if (total.low != total.high && total.high == UINT64_MAX)
		fputs("null}", out); /* no upper limit */
	else if (total.low != total.high)
		fprintf(out, "%llu}", (unsigned long long)total.high);
}

/* What was allocated while sampling was off is in no other figure; `spans`: when it was. `outages`: when
 * nothing could be recorded; without an end: to the last. */
static void write_sampling(FILE *out, const struct bp_sampling *sampling)
{
	fprintf(out,
		"  \"sampling\": {\"automatic\": %s, \"fine_start\": %s, \"changes\": %llu,\n"
		"    \"off\": {\"bytes\": ",
		sampling->automatic ? "true" : "false", sampling->fine_start ? "true" : "false",
		(unsigned long long)sampling->changes);
	write_known(out, sampling->bytes_off);
	fputs(", \"objects\": ", out);
	write_known(out, sampling->objects_off);
	fprintf(out, ", \"duration_s\": %.9f, \"spans\": [", (double)sampling->off_ns / 1e9);
	for (uint32_t i = 0; i < sampling->span_count; i++)
		fprintf(out, "%s[%.9f, %.9f]", i > 0 ? ", " : "",
			(double)sampling->spans[i].from_ns / 1e9,
			(double)sampling->spans[i].to_ns / 1e9);
	fputs("]}", out);
	if (sampling->outage_count > 0)
		fputs(",\n    \"outages\": [", out);
	for (uint32_t i = 0; i < sampling->outage_count; i++) {
		const bool open = sampling->outage_goes_on && i + 1 == sampling->outage_count;
		fprintf(out, "%s{\"from_s\": %.9f, \"to_s\": ", i > 0 ? ", " : "",
			(double)sampling->outages[i].from_ns / 1e9);
		if (open)
			fputs("null}", out);
		else
			fprintf(out, "%.9f}", (double)sampling->outages[i].to_ns / 1e9);
	}
	fputs(sampling->outage_count > 0 ? "]},\n" : "},\n", out);
}

static void write_head(FILE *out, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	const struct bp_query *query = &aggregation->query;
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += aggregation->lost[reason];
	fputs("{\n  \"schema\": \"bytepoll-report-1\",\n  \"program\": ", out);
	write_text(out, profile, subject->program);
	fputs(",\n  \"name\": ", out);
	bp_write_json_string(out, bp_process_name(profile, subject));
	fputs(",\n  \"command_line\": ", out);
	write_text(out, profile, subject->command_line);
	fprintf(out, ",\n  \"pid\": %u,\n", subject->pid);
	fprintf(out, "  \"duration_s\": %.9f,\n", (double)aggregation->duration_ns / 1e9);
	write_intervals(out, &aggregation->sampling);
	write_sampling(out, &aggregation->sampling);
	fprintf(out, "  \"law\": \"%s\",\n", subject->law == 0 ? "exact" : "bernoulli");
	fprintf(out, "  \"samples\": %llu,\n  \"lost\": %llu,\n",
		(unsigned long long)aggregation->samples, (unsigned long long)lost);
	if (aggregation->lost_more)
		fputs("  \"lost_more\": true,\n", out);
	fprintf(out, "  \"confidence\": %.10g,\n", query->confidence);
	fprintf(out, "  \"estimator\": \"%s\",\n  \"interval_method\": \"%s\",\n",
		bp_estimator_names[query->estimator], bp_method_names[query->method]);
	fprintf(out, "  \"unrelated\": %s,\n", profile->merged_unrelated ? "true" : "false");
}

/* What was live at the moment that is named as the peak's. */
static void write_peak_moment(FILE *out, const struct bp_aggregation *aggregation)
{
	if (aggregation->peak_at_ns == BP_TIME_NEVER)
		return;
	fprintf(out, ",\n      \"at\": {\"time_s\": %.9f, \"bytes\": ",
		(double)aggregation->peak_at_ns / 1e9);
	bp_write_json_figure(out, &aggregation->peak_moment.bytes, 1);
	fputs(", \"objects\": ", out);
	bp_write_json_figure(out, &aggregation->peak_moment.objects, 1);
	putc('}', out);
}

static void write_totals(FILE *out, const struct bp_aggregation *aggregation)
{
	fputs("  \"totals\": {", out);
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_total total = aggregation->totals[metric];
		if (!total.known)
			total.bytes.interval = total.objects.interval =
				(struct bp_interval){ NAN, NAN, NAN, false, true };
		fprintf(out,
			"%s\n    \"%s\": {\"samples\": %llu, \"bytes\": ", metric > 0 ? "," : "",
			bp_metric_names[metric],
			(unsigned long long)(total.known ? total.samples : 0));
		bp_write_json_figure(out, &total.bytes, 1);
		fputs(", \"objects\": ", out);
		bp_write_json_figure(out, &total.objects, 1);
		if (metric == BP_METRIC_PEAK && total.known)
			write_peak_moment(out, aggregation);
		putc('}', out);
	}
	fputs("\n  },\n", out);
}

static void write_query(FILE *out, const struct bp_aggregation *aggregation)
{
	const struct bp_query *query = &aggregation->query;
	fprintf(out, "  \"metric\": \"%s\",\n  \"by\": \"%s\",\n  \"cumulative\": %s,\n",
		bp_metric_names[query->metric], bp_query_by(query),
		query->cumulative ? "true" : "false");
	fprintf(out, "  \"bytes\": \"%s\",\n  \"at\": ", query->usable ? "usable" : "requested");
	if (query->metric == BP_METRIC_LIVE)
		fprintf(out, "%.9f", (double)aggregation->at_ns / 1e9);
	else if (query->metric == BP_METRIC_PEAK && aggregation->peak_at_ns != BP_TIME_NEVER)
		fprintf(out, "%.9f", (double)aggregation->peak_at_ns / 1e9);
	else
		fputs("null", out);
	fputs(",\n  \"peak_at\": ", out);
	if (aggregation->peak_at_ns != BP_TIME_NEVER)
		fprintf(out, "%.9f", (double)aggregation->peak_at_ns / 1e9);
	else
		fputs("null", out);
	fputs(",\n  \"from\": ", out);
	bp_write_json_number(out, query->has_from ? (double)query->from_ns / 1e9 : NAN);
	fputs(",\n  \"to\": ", out);
	bp_write_json_number(out, query->has_to ? (double)query->to_ns / 1e9 : NAN);
	fputs(",\n  \"filters\": [", out);
	for (uint32_t i = 0; i < query->filter_count; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_json_string(out, query->filters[i].text);
	}
	fprintf(out, "],\n  \"size_min\": %llu,\n", (unsigned long long)aggregation->size_min);
}

static void write_known_field(FILE *out, const char *name, struct bp_known_total total)
{
	if (total.high == UINT64_MAX && total.low == 0)
		return; /* not counted */
	fprintf(out, ", \"%s\": ", name);
	write_known(out, total);
}

static void write_processes(FILE *out, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	bool first = true;
	fputs("  \"processes\": [", out);
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *p = &profile->processes.data[i];
		if (aggregation->query.pid != 0 && p->pid != aggregation->query.pid)
			continue;
		fprintf(out,
			"%s\n    {\"pid\": %u, \"parent_pid\": %u, \"exec_number\": %u, "
			"\"program\": ",
			first ? "" : ",", p->pid, p->parent_pid, p->exec_number);
		write_text(out, profile, p->program);
		fputs(", \"name\": ", out);
		bp_write_json_string(out, bp_process_name(profile, p));
		fputs(", \"file\": ", out);
		write_text(out, profile, p->file);
		fprintf(out,
			", \"start_s\": %.9f, \"duration_s\": %.9f, \"ended\": %s, "
			"\"profiled\": %s, \"interval\": %llu, \"samples\": %llu",
			((double)p->start_time_ns - (double)root->start_time_ns) / 1e9,
			p->end_time_ns > p->start_time_ns
				? (double)(p->end_time_ns - p->start_time_ns) / 1e9
				: 0.0,
			p->ended ? "true" : "false", p->profiled ? "true" : "false",
			(unsigned long long)p->interval_max, (unsigned long long)p->samples);
		write_known_field(out, "bytes_allocated", p->bytes_allocated);
		write_known_field(out, "objects_allocated", p->objects_allocated);
		write_known_field(out, "bytes_off", p->bytes_off);
		write_known_field(out, "objects_off", p->objects_off);
		fprintf(out,
			", \"unoffered_bytes\": %llu, \"unoffered_objects\": %llu, "
			"\"unseen_execs\": %llu, \"open_threads\": %llu, "
			"\"unknown_samples\": %llu, \"end_signal\": %u}",
			(unsigned long long)p->unoffered_bytes,
			(unsigned long long)p->unoffered_objects,
			(unsigned long long)p->unseen_execs, (unsigned long long)p->open_threads,
			(unsigned long long)p->unknown_samples, p->end_signal);
		first = false;
	}
	fputs("\n  ],\n", out);
}

/* What recorders other than ours tell: events lost by thread, and how many frames have names. */
static void write_events(FILE *out, const struct bp_profile *profile)
{
	uint64_t frames = 0, named = 0;
	bool first = true;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		frames += profile->processes.data[i].frames;
		named += profile->processes.data[i].frames_named;
	}
	if (frames > 0)
		fprintf(out, "  \"frames\": {\"recorded\": %llu, \"named\": %llu},\n",
			(unsigned long long)frames, (unsigned long long)named);
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		if (thread->lost == 0)
			continue;
		fprintf(out, "%s{\"tid\": %u, \"events\": %llu}",
			first ? "  \"losses_by_thread\": [" : ", ", thread->tid,
			(unsigned long long)thread->lost);
		first = false;
	}
	if (!first)
		fputs("],\n", out);
}

static void write_losses(FILE *out, const struct bp_aggregation *aggregation)
{
	uint64_t unknown = 0;
	const uint64_t events = aggregation->lost[BP_PROFILE_LOST_EVENTS];
	const uint64_t invalid = aggregation->lost[BP_PROFILE_LOST_INVALID];
	const uint64_t buckets = aggregation->lost[BP_PROFILE_LOST_BUCKETS];
	const uint64_t unreadable = aggregation->lost[BP_PROFILE_LOST_UNREADABLE];
	const uint64_t counters = aggregation->lost[BP_PROFILE_LOST_COUNTERS];
	fputs("  \"losses\": {", out);
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++) {
		if (reason >= BP_PROFILE_LOST_EVENTS && reason <= BP_PROFILE_LOST_COUNTERS)
			continue;
		if (reason >= BP_LOSS_KINDS_KNOWN)
			unknown += aggregation->lost[reason];
		else
			fprintf(out, "%s\"%s\": %llu", reason > 0 ? ", " : "",
				bp_loss_kind(reason).name,
				(unsigned long long)aggregation->lost[reason]);
	}
	if (events > 0)
		fprintf(out, ", \"events\": %llu", (unsigned long long)events);
	if (invalid > 0)
		fprintf(out, ", \"invalid\": %llu", (unsigned long long)invalid);
	if (buckets > 0)
		fprintf(out, ", \"buckets\": %llu", (unsigned long long)buckets);
	if (unreadable > 0)
		fprintf(out, ", \"unreadable\": %llu", (unsigned long long)unreadable);
	if (counters > 0)
		fprintf(out, ", \"counters\": %llu", (unsigned long long)counters);
	if (unknown > 0)
		fprintf(out, ", \"unknown\": %llu", (unsigned long long)unknown);
	fputs("},\n", out);
}

static void write_frames(FILE *out, const struct bp_profile *profile, const struct bp_row *row)
{
	fputs("\"stack\": ", out);
	bp_write_json_frames(out, profile, row->frames, row->frame_count);
	if (row->stack_flags != 0)
		fprintf(out, ", \"stack_%s\": true", row->stack_flags & 1 ? "cut" : "ended_early");
}

static void write_row(
	FILE *out, const struct bp_profile *profile, const struct bp_row *row, bool with_key)
{
	putc('{', out);
	if (with_key && row->name != NULL) {
		fputs("\"name\": ", out);
		bp_write_json_string(out, row->name);
	} else if (with_key) {
		write_frames(out, profile, row);
	}
	fprintf(out, "%s\"samples\": %llu, \"bytes\": ", with_key ? ", " : "",
		(unsigned long long)row->samples);
	bp_write_json_figure(out, &row->bytes, 1);
	fputs(", \"objects\": ", out);
	bp_write_json_figure(out, &row->objects, 1);
	putc('}', out);
}

static void write_rows(FILE *out, const struct bp_aggregation *aggregation, uint32_t shown)
{
	struct bp_row row;
	fputs("  \"rows\": [", out);
	for (uint32_t i = 0; i < shown; i++) {
		bp_aggregation_row(aggregation, i, &row);
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		write_row(out, aggregation->profile, &row, true);
	}
	fprintf(out, "%s],\n  \"rest\": ", shown > 0 ? "\n  " : "");
	if (bp_aggregation_rest(aggregation, shown, &row)) {
		write_row(out, aggregation->profile, &row, false);
	} else {
		struct bp_interval nothing = { 0, 0, 0, true, false };
		row = (struct bp_row){ .bytes.interval = nothing, .objects.interval = nothing };
		write_row(out, aggregation->profile, &row, false);
	}
	fprintf(out, ",\n  \"rows_left_out\": %u,\n", aggregation->row_count - shown);
}

static bool write_timeline(
	FILE *out, const struct bp_aggregation *aggregation, uint32_t count, struct bp_error *error)
{
	struct bp_moment_figures *moments = calloc(count, sizeof *moments);
	if (moments == NULL)
		return bp_error_set(error, "out of memory");
	bool good = bp_aggregation_timeline(aggregation, count, moments, error);
	fputs("  \"timeline\": [", out);
	for (uint32_t i = 0; good && i < count; i++) {
		fprintf(out, "%s\n    {\"time_s\": %.9f, \"samples\": %llu, \"bytes\": ",
			i > 0 ? "," : "", (double)moments[i].time_ns / 1e9,
			(unsigned long long)moments[i].samples);
		bp_write_json_figure(out, &moments[i].bytes, 1);
		fputs(", \"objects\": ", out);
		bp_write_json_figure(out, &moments[i].objects, 1);
		fputs(moments[i].off ? ", \"off\": true" : "", out);
		fputs(moments[i].unrecorded ? ", \"unrecorded\": true}" : "}", out);
	}
	fputs("\n  ],\n", out);
	free(moments);
	return good;
}

static bool write_json(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	uint32_t shown =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	write_head(out, aggregation);
	write_totals(out, aggregation);
	write_query(out, aggregation);
	write_processes(out, aggregation);
	bp_write_json_resident(aggregation, options, out);
	write_losses(out, aggregation);
	write_events(out, aggregation->profile);
	if (options->moments > 0 && !write_timeline(out, aggregation, options->moments, error))
		return false;
	if (options->stats && !bp_write_json_stats(out, aggregation, error))
		return false;
	write_rows(out, aggregation, shown);
	fputs("  \"warnings\": [", out);
	for (uint32_t i = 0; aggregation->warnings[i] != NULL; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_json_string(out, aggregation->warnings[i]);
	}
	fputs("]\n}\n", out);
	return true;
}

const struct bp_report bp_report_json = { .name = "json",
	.description = "everything as JSON (schema bytepoll-report-1)",
	.rows = BP_ROWS_ALL,
	.write = write_json };
