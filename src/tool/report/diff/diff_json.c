/* SPDX-License-Identifier: MIT */
/*
 * A difference as one JSON object, for scripts; `schema` names the contract, and fields are added
 * under the same schema, never changed. A figure is {estimate, low, high}, with "exact": true where
 * nothing is estimated, and "lower_bound" or "upper_bound" where losses leave that side alone;
 * numbers that are not known, or are not finite, are null.
 *
 * bytepoll-diff-1:
 *	metric, by, cumulative, bytes (requested|usable), unit (bytes|objects: what verdicts, p and q
 *	are about), confidence, fdr, filters, at
 *	moments			null, or {base, new}: seconds since the start, for --at A --at B
 *	normalize		null, or {by: total|duration|count, reference}
 *	variation_between_runs	is it covered? (two runs a side at least)
 *	base, new		{runs: [{file, program, pid, duration_s, interval (the largest),
 *				intervals, law, samples, lost, work, scale}]}
 *	total			a row without a name, tested alone: its q is its p
 *	keys, tested, verdicts	how many rows there are, had enough samples, and got each verdict
 *	rows			{name | stack, verdict, p, q, ratio, base, new, change: each {bytes,
 *				objects}, samples: {base, new}, tested, between_runs: of several
 *				runs, standard deviations {base, new: {bytes, objects}}}
 *	rest			what --rows left out, together; null where rows overlap
 *	rows_left_out, warnings
 *
 * bytepoll-growth-1 has from_s, to_s, error (of any false suspect), by, confidence, total, rows,
 * rows_left_out, suspects, warnings. A row is {name | stack, suspect, p, q (p times the number of
 * rows), at_least_bytes_per_s, bytes_per_s, objects_per_s, from, to: {bytes, objects}, samples:
 * {made, freed}}.
 */
#include <math.h>

#include "query/filter.h"
#include "report/diff/diff_report.h"
#include "text/json_values.h"

static const char *const side_names[BP_SIDES] = { [BP_BASE] = "base", [BP_NEW] = "new" };

static void write_pair(struct bp_json *json, const char *name, const struct bp_figure *bytes,
	const struct bp_figure *objects)
{
	bp_json_object(json, name, BP_JSON_SPACED);
	bp_json_figures(json, bytes, objects);
	bp_json_end(json);
}

/* "name" or "stack". */
static void write_key(struct bp_json *json, const struct bp_diff_row *row)
{
	if (row->name != NULL)
		bp_json_text(json, "name", row->name);
	else
		bp_json_frames(json, "stack", row->profile, row->frames, row->frame_count);
}

static void write_deviations(struct bp_json *json, const struct bp_diff_row *row)
{
	bp_json_object(json, "between_runs", BP_JSON_SPACED);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_json_object(json, side_names[side], BP_JSON_SPACED);
		bp_json_number(json, "bytes", row->bytes.deviation[side]);
		bp_json_number(json, "objects", row->objects.deviation[side]);
		bp_json_end(json);
	}
	bp_json_end(json);
}

/* The members of a row, and its end. */
static void write_row(
	struct bp_json *json, const struct bp_diff *diff, const struct bp_diff_row *row)
{
	const struct bp_diff_figure *asked = diff->query.objects ? &row->objects : &row->bytes;
	bp_json_text(json, "verdict", bp_verdict_names[row->verdict]);
	bp_json_digits(json, "p", asked->p, 10);
	bp_json_digits(json, "q", row->q, 10);
	bp_json_interval(json, "ratio", &asked->ratio, 1);
	for (int side = 0; side < BP_SIDES; side++)
		write_pair(
			json, side_names[side], &row->bytes.side[side], &row->objects.side[side]);
	write_pair(json, "change", &row->bytes.change, &row->objects.change);
	bp_json_object(json, "samples", BP_JSON_SPACED);
	for (int side = 0; side < BP_SIDES; side++)
		bp_json_whole(json, side_names[side], row->samples[side]);
	bp_json_end(json);
	bp_json_bool(json, "tested", row->tested);
	if (diff->run_count[BP_BASE] > 1 || diff->run_count[BP_NEW] > 1)
		write_deviations(json, row);
	bp_json_end(json);
}

void bp_json_diff_row(struct bp_json *json, const char *key, const struct bp_diff *diff,
	const struct bp_diff_row *row)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	write_row(json, diff, row);
}

void bp_json_verdicts(struct bp_json *json, const struct bp_diff *diff, enum bp_json_layout layout)
{
	bp_json_object(json, "verdicts", layout);
	for (int verdict = 0; verdict < BP_VERDICT_COUNT; verdict++)
		bp_json_whole(json, bp_verdict_names[verdict], diff->verdicts[verdict]);
	bp_json_end(json);
}

static void write_run(struct bp_json *json, const struct bp_run *run, double work)
{
	const struct bp_aggregation *a = run->shown;
	const struct bp_process *subject = &a->profile->processes.data[a->subject.i];
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += a->lost[reason];
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_text(json, "file", run->file);
	bp_json_name(json, "program", a->profile, subject->program);
	bp_json_text(json, "name", bp_process_name(a->profile, subject));
	bp_json_whole(json, "pid", subject->pid);
	bp_json_seconds(json, "duration_s", a->duration_ns);
	bp_json_whole(json, "interval", bp_aggregation_assumptions(a).interval_max);
	bp_json_array(json, "intervals", BP_JSON_SPACED);
	for (uint32_t i = 0; i < a->sampling.interval_count; i++)
		bp_json_whole(json, NULL, a->sampling.intervals[i]);
	bp_json_end(json);
	bp_json_text(json, "law", subject->law == 0 ? "exact" : "bernoulli");
	bp_json_whole(json, "samples", a->samples);
	bp_json_whole(json, "lost", lost);
	bp_json_number(json, "work", work);
	bp_json_digits(json, "scale", run->scale, 10);
	bp_json_end(json);
}

static void write_sides(
	struct bp_json *json, const struct bp_diff *diff, const struct bp_diff_options *options)
{
	for (int side = 0; side < BP_SIDES; side++) {
		bp_json_object(json, side_names[side], BP_JSON_SPACED);
		bp_json_array(json, "runs", BP_JSON_TALL);
		for (uint32_t i = 0; i < diff->run_count[side]; i++)
			write_run(json, &diff->runs[side][i],
				options->normalize != BP_WORK_NONE ? options->work[side][i] : NAN);
		bp_json_end(json);
		bp_json_end(json);
	}
}

static void write_moments(struct bp_json *json, const struct bp_diff *diff)
{
	if (!diff->query.moments) {
		bp_json_null(json, "moments");
		return;
	}
	bp_json_object(json, "moments", BP_JSON_SPACED);
	for (int side = 0; side < BP_SIDES; side++)
		bp_json_seconds(json, side_names[side], diff->runs[side][0].shown->at_ns);
	bp_json_end(json);
}

static void write_question(
	struct bp_json *json, const struct bp_diff *diff, const struct bp_diff_options *options)
{
	const struct bp_query *query = &diff->runs[BP_NEW][0].shown->query;
	const bool has_at = query->has_at && !diff->query.moments;
	const bool covered = diff->run_count[BP_BASE] > 1 && diff->run_count[BP_NEW] > 1;
	bp_json_text(json, "metric",
		bp_metric_word(query->metric, diff->runs[BP_NEW][0].shown->profile->mapped));
	bp_json_text(json, "by", bp_query_by(query));
	bp_json_bool(json, "cumulative", query->cumulative);
	bp_json_text(json, "bytes", query->usable ? "usable" : "requested");
	bp_json_text(json, "unit", diff->query.objects ? "objects" : "bytes");
	bp_json_digits(json, "confidence", query->confidence, 12);
	bp_json_digits(json, "fdr", diff->query.rate, 10);
	bp_json_filters(json, query);
	bp_json_number(json, "at", has_at ? (double)query->at_ns / 1e9 : NAN);
	write_moments(json, diff);
	if (options->normalize != BP_WORK_NONE) {
		bp_json_object(json, "normalize", BP_JSON_SPACED);
		bp_json_text(json, "by", bp_work_names[options->normalize]);
		bp_json_digits(json, "reference", options->work_reference, 10);
		bp_json_end(json);
	} else {
		bp_json_null(json, "normalize");
	}
	bp_json_bool(json, "variation_between_runs", covered);
}

void bp_write_diff_json(
	const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out)
{
	const uint32_t rows = diff->row_count, limit = options->report.rows;
	const uint32_t shown = rows < limit ? rows : limit;
	struct bp_json json = bp_json_begin(out);
	struct bp_diff_row row;
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-diff-1");
	write_question(&json, diff, options);
	write_sides(&json, diff, options);
	bp_diff_total(diff, &row);
	bp_json_diff_row(&json, "total", diff, &row);
	bp_json_whole(&json, "keys", rows);
	bp_json_whole(&json, "tested", diff->tested_count);
	bp_json_verdicts(&json, diff, BP_JSON_SPACED);
	bp_json_array(&json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < shown; i++) {
		bp_diff_row(diff, i, &row);
		bp_json_object(&json, NULL, BP_JSON_SPACED);
		write_key(&json, &row);
		write_row(&json, diff, &row);
	}
	bp_json_end(&json);
	if (bp_diff_together(diff, shown, rows, &row))
		bp_json_diff_row(&json, "rest", diff, &row);
	else
		bp_json_null(&json, "rest");
	bp_json_whole(&json, "rows_left_out", rows - shown);
	bp_json_texts(&json, "warnings", diff->warnings);
	bp_json_end_document(&json);
}

/* `key` "total", or NULL for a row, which has a name. */
static void write_growth_row(
	struct bp_json *json, const char *key, const struct bp_diff_row *row, double seconds)
{
	bp_json_object(json, key, BP_JSON_SPACED);
	if (key == NULL)
		write_key(json, row);
	bp_json_bool(json, "suspect", row->verdict != BP_VERDICT_UNCLEAR);
	bp_json_digits(json, "p", row->bytes.p, 10);
	bp_json_digits(json, "q", row->q, 10);
	bp_json_number(json, "at_least_bytes_per_s", row->bytes.lower / seconds);
	bp_json_figure(json, "bytes_per_s", &row->bytes.change, seconds);
	bp_json_figure(json, "objects_per_s", &row->objects.change, seconds);
	write_pair(json, "from", &row->bytes.side[BP_BASE], &row->objects.side[BP_BASE]);
	write_pair(json, "to", &row->bytes.side[BP_NEW], &row->objects.side[BP_NEW]);
	bp_json_object(json, "samples", BP_JSON_SPACED);
	bp_json_whole(json, "made", row->samples[BP_NEW]);
	bp_json_whole(json, "freed", row->samples[BP_BASE]);
	bp_json_end(json);
	bp_json_end(json);
}

/* The hosts of a sample, whose mean is shown. */
static void write_hosts(struct bp_json *json, const struct bp_diff_moments *moments)
{
	bp_json_array(json, "hosts", BP_JSON_LINES);
	for (uint32_t i = 0; i < moments->host_count; i++) {
		const struct bp_aggregation *host = &moments->hosts[i].shown[BP_NEW];
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_text(json, "name", moments->hosts[i].runs[BP_NEW].file);
		bp_json_whole(json, "runs", host->profile->stored_runs);
		bp_json_whole(json, "samples", host->samples);
		bp_json_end(json);
	}
	bp_json_end(json);
}

void bp_write_growth_json(
	const struct bp_diff_moments *moments, const struct bp_report_options *options, FILE *out)
{
	const struct bp_diff *diff = &moments->diff;
	const struct bp_aggregation *new = bp_diff_moments_later(moments);
	const struct bp_process *subject = &new->profile->processes.data[new->subject.i];
	const uint32_t rows = diff->row_count;
	const uint32_t shown = rows < options->rows ? rows : options->rows;
	const double seconds = (double)(moments->at_ns[BP_NEW] - moments->at_ns[BP_BASE]) / 1e9;
	struct bp_json json = bp_json_begin(out);
	struct bp_diff_row row;
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-growth-1");
	bp_json_name(&json, "program", new->profile, subject->program);
	bp_json_text(&json, "name", bp_process_name(new->profile, subject));
	bp_json_seconds(&json, "from_s", moments->at_ns[BP_BASE]);
	bp_json_seconds(&json, "to_s", moments->at_ns[BP_NEW]);
	if (moments->origin_unix_ns != 0)
		bp_json_seconds(&json, "origin_unix_s", moments->origin_unix_ns);
	if (moments->host_count > 0)
		write_hosts(&json, moments);
	else if (new->profile->stored_runs > 0)
		bp_json_whole(&json, "runs", new->profile->stored_runs);
	bp_json_text(&json, "by", bp_query_by(&new->query));
	bp_json_bool(&json, "cumulative", new->query.cumulative);
	bp_json_digits(&json, "confidence", new->query.confidence, 12);
	bp_json_digits(&json, "error", diff->query.rate, 10);
	bp_json_filters(&json, &new->query);
	bp_diff_total(diff, &row);
	write_growth_row(&json, "total", &row, seconds);
	bp_json_whole(&json, "keys", rows);
	bp_json_whole(&json, "suspects", diff->verdict_count);
	bp_json_array(&json, "rows", BP_JSON_LINES);
	for (uint32_t i = 0; i < shown; i++) {
		bp_diff_row(diff, i, &row);
		write_growth_row(&json, NULL, &row, seconds);
	}
	bp_json_end(&json);
	bp_json_whole(&json, "rows_left_out", rows - shown);
	bp_json_texts(&json, "warnings", diff->warnings);
	bp_json_end_document(&json);
}
