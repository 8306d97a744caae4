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

#include "base/attributes.h"
#include "model/gaps/python_state.h"
#include "query/filter.h"
#include "report/report.h"
#include "report/parts/resident_text.h"
#include "report/all.h"
#include "report/lifetimes.h"
#include "report/pages_json.h"
#include "report/pairs.h"
#include "report/rounding.h"
#include "report/stats.h"
#include "text/json_values.h"

/* null as the upper limit: there is none. */
static void write_known(struct bp_json *json, const char *key, struct bp_known_total total)
{
	const bool exact = total.low == total.high;
	bp_json_object(json, key, BP_JSON_SPACED);
	if (exact)
		bp_json_whole(json, "estimate", total.low);
	else
		bp_json_null(json, "estimate");
	bp_json_whole(json, "low", total.low);
	if (!exact && total.high == UINT64_MAX)
		bp_json_null(json, "high");
	else
		bp_json_whole(json, "high", total.high);
	if (exact)
		bp_json_bool(json, "exact", true);
	bp_json_end(json);
}

/* When nothing could be recorded; without an end: to the last. */
static void write_outages(struct bp_json *json, const struct bp_sampling *sampling)
{
	if (sampling->outage_count == 0)
		return;
	bp_json_break(json, 4);
	bp_json_array(json, "outages", BP_JSON_SPACED);
	for (uint32_t i = 0; i < sampling->outage_count; i++) {
		const bool open = sampling->outage_goes_on && i + 1 == sampling->outage_count;
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_seconds(json, "from_s", sampling->outages[i].from_ns);
		if (open)
			bp_json_null(json, "to_s");
		else
			bp_json_seconds(json, "to_s", sampling->outages[i].to_ns);
		bp_json_end(json);
	}
	bp_json_end(json);
}

/* What was allocated while sampling was off is in no other figure; `spans`: when it was. */
static void write_sampling(struct bp_json *json, const struct bp_sampling *sampling)
{
	bp_json_object(json, "sampling", BP_JSON_SPACED);
	bp_json_bool(json, "automatic", sampling->automatic);
	bp_json_bool(json, "fine_start", sampling->fine_start);
	bp_json_whole(json, "changes", sampling->changes);
	bp_json_break(json, 4);
	bp_json_object(json, "off", BP_JSON_SPACED);
	write_known(json, "bytes", sampling->bytes_off);
	write_known(json, "objects", sampling->objects_off);
	bp_json_seconds(json, "duration_s", sampling->off_ns);
	bp_json_array(json, "spans", BP_JSON_SPACED);
	for (uint32_t i = 0; i < sampling->span_count; i++) {
		bp_json_array(json, NULL, BP_JSON_SPACED);
		bp_json_seconds(json, NULL, sampling->spans[i].from_ns);
		bp_json_seconds(json, NULL, sampling->spans[i].to_ns);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_end(json);
	write_outages(json, sampling);
	bp_json_end(json);
}

static void write_head(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	const struct bp_query *query = &aggregation->query;
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += aggregation->lost[reason];
	bp_json_text(json, "schema", "bytepoll-report-1");
	bp_json_name(json, "program", profile, subject->program);
	bp_json_text(json, "name", bp_process_name(profile, subject));
	bp_json_name(json, "command_line", profile, subject->command_line);
	bp_json_whole(json, "pid", subject->pid);
	bp_json_seconds(json, "duration_s", aggregation->duration_ns);
	bp_json_array(json, "intervals", BP_JSON_SPACED);
	for (uint32_t i = 0; i < aggregation->sampling.interval_count; i++)
		bp_json_whole(json, NULL, aggregation->sampling.intervals[i]);
	bp_json_end(json);
	write_sampling(json, &aggregation->sampling);
	bp_json_text(json, "law", subject->law == 0 ? "exact" : "bernoulli");
	bp_json_whole(json, "samples", aggregation->samples);
	bp_json_whole(json, "lost", lost);
	if (aggregation->lost_more)
		bp_json_bool(json, "lost_more", true);
	bp_json_digits(json, "confidence", query->confidence, 12);
	bp_json_text(json, "estimator", bp_estimator_names[query->estimator]);
	bp_json_text(json, "interval_method", bp_method_names[query->method]);
	bp_json_bool(json, "unrelated", profile->merged_unrelated);
}

/* What was live at the moment that is named as the peak's. */
static void write_peak_moment(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	if (aggregation->peak_at_ns == BP_TIME_NEVER)
		return;
	bp_json_break(json, 6);
	bp_json_object(json, "at", BP_JSON_SPACED);
	bp_json_seconds(json, "time_s", aggregation->peak_at_ns);
	bp_json_figures(json, &aggregation->peak_moment.bytes, &aggregation->peak_moment.objects);
	bp_json_end(json);
}

static void write_totals(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	bp_json_object(json, "totals", BP_JSON_LINES);
	const bool mapped = aggregation->profile->mapped;
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_total total = aggregation->totals[metric];
		if (mapped && metric == BP_METRIC_TEMPORARY)
			continue;
		if (!total.known)
			total.bytes.interval = total.objects.interval =
				(struct bp_interval){ NAN, NAN, NAN, false, true };
		bp_json_object(
			json, bp_metric_word((enum bp_metric)metric, mapped), BP_JSON_SPACED);
		bp_json_whole(json, "samples", total.known ? total.samples : 0);
		bp_json_figures(json, &total.bytes, &total.objects);
		if (metric == BP_METRIC_PEAK && total.known)
			write_peak_moment(json, aggregation);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_time(struct bp_json *json, const char *key, bool known, uint64_t time_ns)
{
	if (known)
		bp_json_seconds(json, key, time_ns);
	else
		bp_json_null(json, key);
}

static void write_query(struct bp_json *json, const struct bp_aggregation *aggregation, bool all)
{
	const struct bp_query *query = &aggregation->query;
	const uint64_t peak_at_ns = aggregation->peak_at_ns;
	const bool has_peak = peak_at_ns != BP_TIME_NEVER;
	bp_json_text(json, "metric",
		all ? BP_SUM_METRIC : bp_metric_word(query->metric, aggregation->profile->mapped));
	bp_json_text(json, "by", bp_query_by(query));
	bp_json_bool(json, "cumulative", query->cumulative);
	bp_json_text(json, "bytes", query->usable ? "usable" : "requested");
	if (query->metric == BP_METRIC_LIVE)
		bp_json_seconds(json, "at", aggregation->at_ns);
	else
		write_time(json, "at", query->metric == BP_METRIC_PEAK && has_peak, peak_at_ns);
	write_time(json, "peak_at", has_peak, peak_at_ns);
	if (query->of_day)
		bp_json_bool(json, "of_day", true);
	bp_json_number(json, "from", query->has_from ? (double)query->from_ns / 1e9 : NAN);
	bp_json_number(json, "to", query->has_to ? (double)query->to_ns / 1e9 : NAN);
	bp_json_filters(json, query);
	bp_json_whole(json, "size_min", aggregation->size_min);
}

static void write_known_field(struct bp_json *json, const char *name, struct bp_known_total total)
{
	if (total.high == UINT64_MAX && total.low == 0)
		return; /* not counted */
	write_known(json, name, total);
}

/* Only of a process that held CPython, which the recorder described. */
static void write_python(struct bp_json *json, const struct bp_profile *profile,
	const struct bp_process_python *python)
{
	bp_json_object(json, "python", BP_JSON_SPACED);
	bp_json_name(json, "name", profile, python->name);
	bp_json_text(json, "frames", bp_python_state_name(python->frames_state));
	bp_json_text(json, "objects", bp_python_state_name(python->objects_state));
	if (python->objects_after_ns != 0)
		bp_json_fixed(json, "objects_after_s", (double)python->objects_after_ns / 1e9, 9);
	bp_json_end(json);
}

static void write_process(
	struct bp_json *json, const struct bp_profile *profile, const struct bp_process *p)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_whole(json, "pid", p->pid);
	bp_json_whole(json, "parent_pid", p->parent_pid);
	bp_json_whole(json, "exec_number", p->exec_number);
	bp_json_name(json, "program", profile, p->program);
	bp_json_text(json, "name", bp_process_name(profile, p));
	bp_json_name(json, "file", profile, p->file);
	const uint64_t start_ns = bp_process_began_ns(profile, p);
	const uint64_t after_ns = start_ns - bp_process_began_ns(profile, root);
	bp_json_fixed(json, "start_s", (double)(int64_t)after_ns / 1e9, 9);
	bp_json_seconds(
		json, "duration_s", p->end_time_ns > start_ns ? p->end_time_ns - start_ns : 0);
	bp_json_bool(json, "ended", p->ended);
	if (p->attached) {
		bp_json_object(json, "attached", BP_JSON_SPACED);
		bp_json_fixed(json, "at_s", (double)p->start_real_ns / 1e9, 3);
		bp_json_whole(json, "loaded_objects", p->loaded_objects);
		bp_json_whole(json, "covered_objects", p->covered_objects);
		bp_json_end(json);
	}
	bp_json_bool(json, "profiled", p->profiled);
	bp_json_whole(json, "interval", p->interval_max);
	bp_json_whole(json, "samples", p->samples);
	write_known_field(json, "bytes_allocated", p->bytes_allocated);
	write_known_field(json, "objects_allocated", p->objects_allocated);
	write_known_field(json, "bytes_off", p->bytes_off);
	write_known_field(json, "objects_off", p->objects_off);
	bp_json_whole(json, "unoffered_bytes", p->unoffered_bytes);
	bp_json_whole(json, "unoffered_objects", p->unoffered_objects);
	bp_json_whole(json, "unseen_execs", p->unseen_execs);
	bp_json_whole(json, "open_threads", p->open_threads);
	bp_json_whole(json, "unknown_samples", p->unknown_samples);
	bp_json_whole(json, "end_signal", p->end_signal);
	if (p->python.known)
		write_python(json, profile, &p->python);
	bp_json_end(json);
}

static void write_processes(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	const uint32_t pid = aggregation->query.pid;
	bp_json_array(json, "processes", BP_JSON_TALL);
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (pid == 0 || profile->processes.data[i].pid == pid)
			write_process(json, profile, &profile->processes.data[i]);
	bp_json_end(json);
}

/* What recorders other than ours tell: events lost by thread, and how many frames have names. */
static void write_events(struct bp_json *json, const struct bp_profile *profile)
{
	uint64_t frames = 0, named = 0;
	bool any = false;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		frames += profile->processes.data[i].frames;
		named += profile->processes.data[i].frames_named;
	}
	if (frames > 0) {
		bp_json_object(json, "frames", BP_JSON_SPACED);
		bp_json_whole(json, "recorded", frames);
		bp_json_whole(json, "named", named);
		bp_json_end(json);
	}
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		if (thread->lost == 0)
			continue;
		if (!any)
			bp_json_array(json, "losses_by_thread", BP_JSON_SPACED);
		any = true;
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_whole(json, "tid", thread->tid);
		bp_json_whole(json, "events", thread->lost);
		bp_json_end(json);
	}
	if (any)
		bp_json_end(json);
}

static void write_losses(struct bp_json *json, const struct bp_aggregation *aggregation)
{
	/* What other recorders lose, named only where it is. */
	static const struct {
		uint32_t reason;
		const char *name;
	} others[] = { { BP_LOSS_KIND_MAPPING, "mapping" }, { BP_PROFILE_LOST_EVENTS, "events" },
		{ BP_PROFILE_LOST_INVALID, "invalid" }, { BP_PROFILE_LOST_BUCKETS, "buckets" },
		{ BP_PROFILE_LOST_UNREADABLE, "unreadable" },
		{ BP_PROFILE_LOST_COUNTERS, "counters" } };
	uint64_t unknown = 0;
	bp_json_object(json, "losses", BP_JSON_SPACED);
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++) {
		if ((reason >= BP_PROFILE_LOST_EVENTS && reason <= BP_PROFILE_LOST_COUNTERS) ||
			reason == BP_LOSS_KIND_MAPPING)
			continue;
		if (reason >= BP_LOSS_KINDS_KNOWN)
			unknown += aggregation->lost[reason];
		else
			bp_json_whole(json, bp_loss_kind(reason).name, aggregation->lost[reason]);
	}
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (aggregation->lost[others[i].reason] > 0)
			bp_json_whole(json, others[i].name, aggregation->lost[others[i].reason]);
	if (unknown > 0)
		bp_json_whole(json, "unknown", unknown);
	bp_json_end(json);
}

static void write_row(struct bp_json *json, const char *key, const struct bp_profile *profile,
	const struct bp_row *row)
{
	const bool named = key == NULL;
	bp_json_object(json, key, BP_JSON_SPACED);
	if (named && row->name != NULL)
		bp_json_text(json, "name", row->name);
	else if (named)
		bp_json_frames(json, "stack", profile, row->frames, row->frame_count);
	if (named && row->name == NULL && row->stack_flags != 0)
		bp_json_bool(json, row->stack_flags & 1 ? "stack_cut" : "stack_ended_early", true);
	bp_json_whole(json, "samples", row->samples);
	bp_json_figures(json, &row->bytes, &row->objects);
	bp_json_end(json);
}

static void write_rows(
	struct bp_json *json, const struct bp_aggregation *aggregation, uint32_t shown)
{
	const struct bp_interval nothing = { 0, 0, 0, true, false };
	struct bp_row row;
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < shown; i++) {
		bp_aggregation_row(aggregation, i, &row);
		write_row(json, NULL, aggregation->profile, &row);
	}
	bp_json_end(json);
	if (!bp_aggregation_rest(aggregation, shown, &row))
		row = (struct bp_row){ .bytes.interval = nothing, .objects.interval = nothing };
	write_row(json, "rest", aggregation->profile, &row);
	bp_json_whole(json, "rows_left_out", aggregation->row_count - shown);
}

static bool write_timeline(struct bp_json *json, const struct bp_aggregation *aggregation,
	uint32_t count, struct bp_error *error)
{
	struct bp_moment_figures *moments = calloc(count, sizeof *moments);
	if (moments == NULL)
		return bp_error_set(error, "out of memory");
	bool good = bp_aggregation_timeline(aggregation, count, moments, error);
	bp_json_array(json, "timeline", BP_JSON_TALL);
	for (uint32_t i = 0; good && i < count; i++) {
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_seconds(json, "time_s", moments[i].time_ns);
		bp_json_whole(json, "samples", moments[i].samples);
		bp_json_figures(json, &moments[i].bytes, &moments[i].objects);
		if (moments[i].off)
			bp_json_bool(json, "off", true);
		if (moments[i].unrecorded)
			bp_json_bool(json, "unrecorded", true);
		bp_json_end(json);
	}
	bp_json_end(json);
	free(moments);
	return good;
}

static bool write_json(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	const uint32_t shown =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	write_head(&json, aggregation);
	write_totals(&json, aggregation);
	write_query(&json, aggregation, options->mapped != NULL);
	write_processes(&json, aggregation);
	bp_json_resident(&json, aggregation, options);
	bp_json_pages(&json, options);
	write_losses(&json, aggregation);
	write_events(&json, aggregation->profile);
	if (options->moments > 0 && !write_timeline(&json, aggregation, options->moments, error))
		return false;
	if (options->stats && !bp_json_stats(&json, aggregation, error))
		return false;
	if (options->lifetimes && !bp_json_lifetimes(&json, aggregation, options, shown, error))
		return false;
	if (options->pairs && !bp_json_pairs(&json, aggregation, options, error))
		return false;
	if (options->rounding && !bp_json_rounding(&json, aggregation, options->rows, error))
		return false;
	if (options->mapped == NULL)
		write_rows(&json, aggregation, shown);
	else if (!bp_json_all(&json, aggregation, options, error))
		return false;
	bp_json_texts(&json, "warnings", aggregation->warnings);
	bp_json_end_document(&json);
	return true;
}

const struct bp_report bp_report_json = {
	.name = "json", .rows = BP_ROWS_ALL, .write = write_json
};
