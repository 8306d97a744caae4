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
 *	base, new		{runs: [{file, program, pid, duration_s, interval, law, samples, lost,
 *				work, scale}]}
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
#include <string.h>

#include "profile/filter.h"
#include "report/diff.h"
#include "report/escape.h"
#include "report/json_values.h"

static void write_pair(
	FILE *out, const char *name, const struct bp_figure *bytes, const struct bp_figure *objects)
{
	fprintf(out, ", \"%s\": {\"bytes\": ", name);
	bp_write_json_figure(out, bytes, 1);
	fputs(", \"objects\": ", out);
	bp_write_json_figure(out, objects, 1);
	putc('}', out);
}

static void write_text(FILE *out, const struct bp_profile *profile, struct bp_string_id id)
{
	bp_write_json_string(out, bp_profile_text(profile, id));
}

/* "name" or "stack", with a comma behind. */
static void write_key(FILE *out, const struct bp_difference_row *row)
{
	if (row->name != NULL) {
		fputs("\"name\": ", out);
		bp_write_json_string(out, row->name);
		fputs(", ", out);
		return;
	}
	fputs("\"stack\": ", out);
	bp_write_json_frames(out, row->profile, row->frames, row->frame_count);
	fputs(", ", out);
}

static void write_deviations(FILE *out, const struct bp_difference_row *row)
{
	fputs(", \"between_runs\": {", out);
	for (int side = 0; side < BP_SIDES; side++) {
		fprintf(out, "%s\"%s\": {\"bytes\": ", side > 0 ? ", " : "",
			side == BP_BASE ? "base" : "new");
		bp_write_json_number(out, row->bytes.deviation[side]);
		fputs(", \"objects\": ", out);
		bp_write_json_number(out, row->objects.deviation[side]);
		putc('}', out);
	}
	putc('}', out);
}

static void write_row(FILE *out, const struct bp_difference *difference,
	const struct bp_difference_row *row, bool with_key)
{
	const struct bp_comparison *asked = difference->query.objects ? &row->objects : &row->bytes;
	putc('{', out);
	if (with_key)
		write_key(out, row);
	fprintf(out, "\"verdict\": \"%s\", \"p\": ", bp_verdict_names[row->verdict]);
	fprintf(out, "%.10g, \"q\": ", asked->p);
	if (isnan(row->q))
		fputs("null", out);
	else
		fprintf(out, "%.10g", row->q);
	fputs(", \"ratio\": ", out);
	bp_write_json_interval(out, &asked->ratio, 1);
	putc('}', out);
	write_pair(out, "base", &row->bytes.side[BP_BASE], &row->objects.side[BP_BASE]);
	write_pair(out, "new", &row->bytes.side[BP_NEW], &row->objects.side[BP_NEW]);
	write_pair(out, "change", &row->bytes.change, &row->objects.change);
	fprintf(out, ", \"samples\": {\"base\": %llu, \"new\": %llu}, \"tested\": %s",
		(unsigned long long)row->samples[BP_BASE], (unsigned long long)row->samples[BP_NEW],
		row->tested ? "true" : "false");
	if (difference->run_count[BP_BASE] > 1 || difference->run_count[BP_NEW] > 1)
		write_deviations(out, row);
	putc('}', out);
}

void bp_write_diff_json_row(
	const struct bp_difference *difference, const struct bp_difference_row *row, FILE *out)
{
	write_row(out, difference, row, false);
}

static void write_run(FILE *out, const struct bp_run *run, double work)
{
	const struct bp_aggregation *a = run->shown;
	const struct bp_process *subject = &a->profile->processes.data[a->subject.i];
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += a->lost[reason];
	fputs("\n    {\"file\": ", out);
	bp_write_json_string(out, run->file);
	fputs(", \"program\": ", out);
	write_text(out, a->profile, subject->program);
	fputs(", \"name\": ", out);
	bp_write_json_string(out, bp_process_name(a->profile, subject));
	fprintf(out, ", \"pid\": %u, \"duration_s\": %.9f, \"interval\": %llu, \"law\": \"%s\", ",
		subject->pid, (double)a->duration_ns / 1e9,
		(unsigned long long)bp_aggregation_assumptions(a).interval_max,
		subject->law == 0 ? "exact" : "bernoulli");
	fprintf(out,
		"\"samples\": %llu, \"lost\": %llu, \"work\": ", (unsigned long long)a->samples,
		(unsigned long long)lost);
	bp_write_json_number(out, work);
	fprintf(out, ", \"scale\": %.10g}", run->scale);
}

static void write_sides(
	FILE *out, const struct bp_difference *difference, const struct bp_diff_options *options)
{
	for (int side = 0; side < BP_SIDES; side++) {
		fprintf(out, "  \"%s\": {\"runs\": [", side == BP_BASE ? "base" : "new");
		for (uint32_t i = 0; i < difference->run_count[side]; i++) {
			fputs(i > 0 ? "," : "", out);
			write_run(out, &difference->runs[side][i],
				options->normalize != NULL ? options->work[side][i] : NAN);
		}
		fputs("\n  ]},\n", out);
	}
}

static void write_filters(FILE *out, const struct bp_query *query)
{
	fputs("  \"filters\": [", out);
	for (uint32_t i = 0; i < query->filter_count; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_json_string(out, query->filters[i].text);
	}
	fputs("],\n", out);
}

static void write_question(
	FILE *out, const struct bp_difference *difference, const struct bp_diff_options *options)
{
	const struct bp_aggregation *base = difference->runs[BP_BASE][0].shown;
	const struct bp_aggregation *new = difference->runs[BP_NEW][0].shown;
	const struct bp_query *query = &new->query;
	fprintf(out, "  \"metric\": \"%s\",\n  \"by\": \"%s\",\n  \"cumulative\": %s,\n",
		bp_metric_names[query->metric], bp_query_by(query),
		query->cumulative ? "true" : "false");
	fprintf(out, "  \"bytes\": \"%s\",\n  \"unit\": \"%s\",\n",
		query->usable ? "usable" : "requested",
		difference->query.objects ? "objects" : "bytes");
	fprintf(out, "  \"confidence\": %.10g,\n  \"fdr\": %.10g,\n", query->confidence,
		difference->query.rate);
	write_filters(out, query);
	fputs("  \"at\": ", out);
	bp_write_json_number(out,
		query->has_at && !difference->query.moments ? (double)query->at_ns / 1e9 : NAN);
	fputs(",\n  \"moments\": ", out);
	if (difference->query.moments)
		fprintf(out, "{\"base\": %.9f, \"new\": %.9f}", (double)base->at_ns / 1e9,
			(double)new->at_ns / 1e9);
	else
		fputs("null", out);
	fputs(",\n  \"normalize\": ", out);
	if (options->normalize != NULL)
		fprintf(out, "{\"by\": \"%s\", \"reference\": %.10g}", options->normalize,
			options->work_reference);
	else
		fputs("null", out);
	bool covered = difference->run_count[BP_BASE] > 1 && difference->run_count[BP_NEW] > 1;
	fprintf(out, ",\n  \"variation_between_runs\": %s,\n", covered ? "true" : "false");
}

static void write_warnings(FILE *out, const struct bp_difference *difference)
{
	fputs("  \"warnings\": [", out);
	for (uint32_t i = 0; difference->warnings[i] != NULL; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_json_string(out, difference->warnings[i]);
	}
	fputs("]\n}\n", out);
}

static void write_counts(FILE *out, const struct bp_difference *difference)
{
	const uint32_t *counts = difference->verdicts;
	fprintf(out, "  \"keys\": %u,\n  \"tested\": %u,\n  \"verdicts\": {", difference->row_count,
		difference->tested_count);
	for (int verdict = 0; verdict < BP_VERDICT_COUNT; verdict++)
		fprintf(out, "%s\"%s\": %u", verdict > 0 ? ", " : "", bp_verdict_names[verdict],
			counts[verdict]);
	fputs("},\n", out);
}

void bp_write_diff_json(
	const struct bp_difference *difference, const struct bp_diff_options *options, FILE *out)
{
	uint32_t rows = difference->row_count, limit = options->report.rows;
	uint32_t shown = rows < limit ? rows : limit;
	struct bp_difference_row row;
	fputs("{\n  \"schema\": \"bytepoll-diff-1\",\n", out);
	write_question(out, difference, options);
	write_sides(out, difference, options);
	bp_difference_total(difference, &row);
	fputs("  \"total\": ", out);
	write_row(out, difference, &row, false);
	fputs(",\n", out);
	write_counts(out, difference);
	fputs("  \"rows\": [", out);
	for (uint32_t i = 0; i < shown; i++) {
		bp_difference_row(difference, i, &row);
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		write_row(out, difference, &row, true);
	}
	fprintf(out, "%s],\n  \"rest\": ", shown > 0 ? "\n  " : "");
	if (bp_difference_together(difference, shown, rows, &row))
		write_row(out, difference, &row, false);
	else
		fputs("null", out);
	fprintf(out, ",\n  \"rows_left_out\": %u,\n", rows - shown);
	write_warnings(out, difference);
}

static void write_growth_row(
	FILE *out, const struct bp_difference_row *row, double seconds, bool with_key)
{
	putc('{', out);
	if (with_key)
		write_key(out, row);
	fprintf(out, "\"suspect\": %s, \"p\": %.10g, \"q\": ",
		row->verdict != BP_VERDICT_UNCLEAR ? "true" : "false", row->bytes.p);
	if (isnan(row->q))
		fputs("null", out);
	else
		fprintf(out, "%.10g", row->q);
	fputs(", \"at_least_bytes_per_s\": ", out);
	bp_write_json_number(out, row->bytes.lower / seconds);
	fputs(", \"bytes_per_s\": ", out);
	bp_write_json_figure(out, &row->bytes.change, seconds);
	fputs(", \"objects_per_s\": ", out);
	bp_write_json_figure(out, &row->objects.change, seconds);
	write_pair(out, "from", &row->bytes.side[BP_BASE], &row->objects.side[BP_BASE]);
	write_pair(out, "to", &row->bytes.side[BP_NEW], &row->objects.side[BP_NEW]);
	fprintf(out, ", \"samples\": {\"made\": %llu, \"freed\": %llu}}",
		(unsigned long long)row->samples[BP_NEW],
		(unsigned long long)row->samples[BP_BASE]);
}

void bp_write_growth_json(
	const struct bp_moments *moments, const struct bp_report_options *options, FILE *out)
{
	const struct bp_difference *difference = &moments->difference;
	const struct bp_aggregation *new = &moments->shown[BP_NEW];
	uint32_t rows = difference->row_count;
	uint32_t shown = rows < options->rows ? rows : options->rows;
	double seconds = (double)(moments->at_ns[BP_NEW] - moments->at_ns[BP_BASE]) / 1e9;
	struct bp_difference_row row;
	fprintf(out, "{\n  \"schema\": \"bytepoll-growth-1\",\n  \"program\": ");
	write_text(out, new->profile, new->profile->processes.data[new->subject.i].program);
	fputs(",\n  \"name\": ", out);
	bp_write_json_string(
		out, bp_process_name(new->profile, &new->profile->processes.data[new->subject.i]));
	fprintf(out, ",\n  \"from_s\": %.9f,\n  \"to_s\": %.9f,\n  \"by\": \"%s\",\n",
		(double)moments->at_ns[BP_BASE] / 1e9, (double)moments->at_ns[BP_NEW] / 1e9,
		bp_query_by(&new->query));
	fprintf(out, "  \"cumulative\": %s,\n  \"confidence\": %.10g,\n  \"error\": %.10g,\n",
		new->query.cumulative ? "true" : "false", new->query.confidence,
		difference->query.rate);
	write_filters(out, &new->query);
	bp_difference_total(difference, &row);
	fputs("  \"total\": ", out);
	write_growth_row(out, &row, seconds, false);
	fprintf(out, ",\n  \"keys\": %u,\n  \"suspects\": %u,\n  \"rows\": [", rows,
		difference->verdict_count);
	for (uint32_t i = 0; i < shown; i++) {
		bp_difference_row(difference, i, &row);
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		write_growth_row(out, &row, seconds, true);
	}
	fprintf(out, "%s],\n  \"rows_left_out\": %u,\n", shown > 0 ? "\n  " : "", rows - shown);
	write_warnings(out, difference);
}
