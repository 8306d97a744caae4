/* SPDX-License-Identifier: MIT */
/*
 * The next run, planned from the last one: for every large row of a profile, how accurate it is and
 * the T that makes it as accurate as wanted.
 *
 * What a row's interval is worth is expressed by the number of samples of small objects that would
 * be as accurate; the number of samples goes with 1/T. Rows of large objects gain more than that
 * when T falls below their size, so the T given serves, and a larger one might. Rows that are
 * counted at any T need nothing. Where every object was recorded (T = 1) all is exact, and the next
 * run is planned from the bytes alone.
 */
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>

#include "estimate/plan.h"
#include "report/parts/header.h"
#include "text/escape.h"
#include "text/json_values.h"

#define NAME_BYTES 1024
#define NAME_COLUMNS_MIN 16
#define NAME_COLUMNS_MAX 60

struct line {
	struct bp_row row;
	double accuracy;   /* now: the farther limit, as a part of the estimate; 0 exact */
	double equivalent; /* samples of small objects that would be as accurate */
	uint64_t interval; /* that makes it as accurate as wanted; 0: any does */
	bool hopeless;	   /* no estimate to start from */
};

struct plan {
	const struct bp_aggregation *aggregation;
	const struct bp_plan_question *question;
	uint64_t interval; /* of the profile */
	struct line *lines;
	uint32_t count;
	uint64_t processes;
};

/* Was every object recorded, so that rows are exact now and would not be at another T? */
static bool is_complete(const struct plan *plan)
{
	const struct bp_query *query = &plan->aggregation->query;
	bool counted = query->metric == BP_METRIC_ALLOCATED && query->filter_count == 0 &&
		       (query->by == BP_KEY_THREAD || query->by == BP_KEY_PROCESS);
	return plan->interval <= 1 && !counted;
}

static struct line line_of(const struct plan *plan, const struct bp_row *row, double needed)
{
	const struct bp_interval *bytes = &row->bytes.interval;
	struct line line = { .row = *row };
	const struct bp_plan_aim aim = { plan->question->accuracy, plan->question->power,
		1 - plan->question->confidence };
	struct bp_plan_next next;
	if (bytes->exact || bytes->low == bytes->high) {
		line.equivalent = NAN;
		if (is_complete(plan) && bytes->estimate > 0)
			line.interval = (uint64_t)fmin(fmax(1, floor(bytes->estimate / needed)),
				(double)BP_PLAN_INTERVAL_MAX);
		return line;
	}
	line.hopeless = !bp_plan_next(bytes, plan->interval, needed, aim, &next);
	if (line.hopeless)
		return line;
	line.accuracy = next.accuracy;
	line.equivalent = next.equivalent;
	line.interval = next.interval;
	return line;
}

/* What a run at `interval` will record: as many times fewer as T is larger; but at T = 1 one sample
 * stood for an object, not for a byte. */
static double samples_at(const struct plan *plan, uint64_t interval)
{
	const struct bp_interval *allocated =
		&plan->aggregation->totals[BP_METRIC_ALLOCATED].bytes.interval;
	if (plan->interval <= 1 && !allocated->unknown)
		return fmin(
			(double)plan->aggregation->samples, allocated->estimate / (double)interval);
	return (double)plan->aggregation->samples * (double)plan->interval / (double)interval;
}

static double trace_bytes_at(const struct plan *plan, uint64_t interval)
{
	return BP_PLAN_TRACE_BYTES_LEAST * (double)plan->processes +
	       BP_PLAN_TRACE_BYTES_PER_SAMPLE * samples_at(plan, interval);
}

/* Of the numbers, and what is left for the name. On narrow terminals the last ones go. */
static const unsigned widths[] = { 27, 7, 7, 11, 10 };

static size_t numbers_shown(const struct bp_report_options *options)
{
	size_t shown = BP_COUNT(widths);
	unsigned used = 2 + NAME_COLUMNS_MIN;
	for (size_t i = 0; i < BP_COUNT(widths); i++)
		used += 2 + widths[i];
	while (shown > 1 && used > options->columns)
		used -= 2 + widths[--shown];
	return shown;
}

static unsigned name_columns(const struct bp_report_options *options)
{
	unsigned numbers = 2;
	for (size_t i = 0; i < numbers_shown(options); i++)
		numbers += 2 + widths[i];
	unsigned left = options->columns > numbers ? options->columns - numbers : 0;
	return left < NAME_COLUMNS_MIN	 ? NAME_COLUMNS_MIN
	       : left > NAME_COLUMNS_MAX ? NAME_COLUMNS_MAX
					 : left;
}

/* Numbers, right-aligned, after the name. */
static void write_columns(
	const char *const *texts, const struct bp_report_options *options, FILE *out)
{
	for (size_t i = 0; i < numbers_shown(options); i++) {
		unsigned columns = bp_text_columns(texts[i]);
		if (*texts[i] == '\0' && i + 1 == BP_COUNT(widths))
			break;
		fprintf(out, "  %*s%s", columns < widths[i] ? (int)(widths[i] - columns) : 0, "",
			texts[i]);
	}
	putc('\n', out);
}

static void write_line(const struct plan *plan, const struct line *line,
	const struct bp_report_options *options, FILE *out)
{
	char name[NAME_BYTES], bytes[BP_QUANTITY_BYTES], now[BP_QUANTITY_BYTES],
		interval[BP_QUANTITY_BYTES] = "any", trace[BP_QUANTITY_BYTES] = "",
		had[BP_QUANTITY_BYTES];
	struct bp_quantity_style style = bp_style_of(options);
	unsigned columns = name_columns(options);
	bp_report_name(
		options, line->row.name != NULL ? line->row.name : "", columns, name, sizeof name);
	bp_bytes_figure_text(&line->row.bytes, style, bytes);
	if (line->hopeless)
		snprintf(now, sizeof now, "?");
	else if (line->accuracy == 0)
		snprintf(now, sizeof now, "exact");
	else
		bp_plan_percent_text(line->accuracy, now);
	if (line->hopeless)
		snprintf(interval, sizeof interval, "?");
	if (line->interval > 0) {
		const uint64_t rounded = bp_plan_round_interval(line->interval);
		bp_interval_text(rounded, interval);
		bp_bytes_text((uint64_t)trace_bytes_at(plan, rounded), style, trace);
	}
	bp_count_text(line->row.samples, had);
	fprintf(out, "  %s%*s", name, (int)(columns - bp_text_columns(name)), "");
	write_columns((const char *const[]){ bytes, had, now, interval, trace }, options, out);
}

/* The smallest T of the first `rows` rows, a round one; 0: none needs any. */
static uint64_t interval_for(const struct plan *plan, uint32_t rows)
{
	uint64_t least = 0;
	for (uint32_t i = 0; i < rows; i++)
		if (plan->lines[i].interval > 0 && (least == 0 || plan->lines[i].interval < least))
			least = plan->lines[i].interval;
	return least > 0 ? bp_plan_round_interval(least) : 0;
}

static void write_next(const struct plan *plan, struct bp_quantity_style style, FILE *out)
{
	const uint32_t counts[] = { 1, plan->count < 3 ? plan->count : 3, plan->count };
	const char *word = "next:";
	for (size_t i = 0; i < BP_COUNT(counts); i++) {
		uint64_t interval = interval_for(plan, counts[i]);
		char text[BP_QUANTITY_BYTES], trace[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
		/* Said for the most rows that it serves. */
		if (interval == 0 ||
			(i + 1 < BP_COUNT(counts) && interval_for(plan, counts[i + 1]) == interval))
			continue;
		bp_interval_text(interval, text);
		bp_bytes_text((uint64_t)trace_bytes_at(plan, interval), style, trace);
		bp_count_text((uint64_t)samples_at(plan, interval), samples);
		fprintf(out, "%s bytepoll run --interval %-5s -- PROGRAM ARGS   ", word, text);
		if (counts[i] == 1)
			fputs("the first row", out);
		else
			fprintf(out, "the first %u rows", counts[i]);
		fprintf(out, ": %s samples, %s\n", samples, trace);
		word = "     ";
	}
}

static void write_text(const struct plan *plan, const struct bp_report_options *options, FILE *out)
{
	char percent[BP_QUANTITY_BYTES], interval[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	struct bp_quantity_style style = bp_style_of(options);
	const char *plus_minus = options->utf8 ? "±" : "+-";
	bp_plan_percent_text(plan->question->accuracy, percent);
	bp_bytes_text(plan->interval, style, interval);
	bp_count_text(plan->aggregation->samples, samples);
	fprintf(out, "%s%s samples at T = %s; ", bp_style_bold(options), samples, interval);
	bp_write_subject(plan->aggregation, out);
	fprintf(out, ": what brings each row within %s%s %%%s\n\n", plus_minus, percent,
		bp_style_end(options));
	char wanted[BP_QUANTITY_BYTES], text[512];
	snprintf(wanted, sizeof wanted, "T for %s%.16s %%", plus_minus, percent);
	fprintf(out, "  %-*s", (int)name_columns(options), "");
	write_columns((const char *const[]){ "bytes", "samples",
			      options->utf8 ? "±% now" : "+-% now", wanted, "trace" },
		options, out);
	for (uint32_t i = 0; i < plan->count; i++)
		write_line(plan, &plan->lines[i], options, out);
	if (plan->count == 0)
		fputs("  no rows\n", out);
	for (char **warning = plan->aggregation->warnings; *warning != NULL; warning++)
		bp_write_wrapped(options, "!", *warning, out);
	bp_plan_percent_text(plan->question->confidence, percent);
	snprintf(text, sizeof text,
		"assumes %s %% confidence, a run that allocates the same, and rows of small "
		"objects: large ones need less. Trace: 64 KiB a process, about 40 bytes a sample. "
		"'any': known exactly.",
		percent);
	putc('\n', out);
	bp_write_wrapped(options, "-", text, out);
	putc('\n', out);
	write_next(plan, style, out);
}

static void write_json_row(const struct plan *plan, const struct line *line, struct bp_json *json)
{
	const bool planned = line->interval > 0;
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_text(json, "name", line->row.name != NULL ? line->row.name : "");
	bp_json_whole(json, "samples", line->row.samples);
	bp_json_interval(json, "bytes", &line->row.bytes.interval, 1);
	bp_json_number(json, "accuracy_now", line->hopeless ? NAN : line->accuracy);
	bp_json_number(json, "equivalent_samples", planned ? line->equivalent : NAN);
	bp_json_number(json, "interval", planned ? (double)line->interval : NAN);
	bp_json_number(json, "expected_samples", planned ? samples_at(plan, line->interval) : NAN);
	bp_json_number(json, "trace_bytes", planned ? trace_bytes_at(plan, line->interval) : NAN);
	bp_json_end(json);
}

static void write_json(const struct plan *plan, FILE *out)
{
	const struct bp_query *query = &plan->aggregation->query;
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-plan-profile-1");
	bp_json_whole(&json, "interval", plan->interval);
	bp_json_whole(&json, "samples", plan->aggregation->samples);
	bp_json_text(&json, "metric", bp_metric_names[query->metric]);
	bp_json_text(&json, "by", bp_query_by(query));
	bp_json_digits(&json, "accuracy", plan->question->accuracy, 10);
	bp_json_digits(&json, "confidence", plan->question->confidence, 10);
	bp_json_array(&json, "rows", BP_JSON_TALL);
	for (uint32_t i = 0; i < plan->count; i++)
		write_json_row(plan, &plan->lines[i], &json);
	bp_json_end(&json);
	bp_json_texts(&json, "warnings", plan->aggregation->warnings);
	bp_json_end_document(&json);
}

static void write_csv_number(FILE *out, bool known, double value)
{
	putc(',', out);
	if (known && isfinite(value))
		bp_write_number(out, value);
}

static void write_csv(const struct plan *plan, FILE *out)
{
	fputs("name,samples,bytes,bytes_low,bytes_high,accuracy_now,interval,expected_samples,trace_bytes\r\n",
		out);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct line *line = &plan->lines[i];
		const struct bp_interval *bytes = &line->row.bytes.interval;
		bool planned = line->interval > 0;
		bp_write_csv_string(out, line->row.name != NULL ? line->row.name : "");
		fprintf(out, ",%llu", (unsigned long long)line->row.samples);
		write_csv_number(out, !bytes->unknown, bytes->estimate);
		write_csv_number(out, true, bytes->low);
		write_csv_number(out, true, bytes->high);
		write_csv_number(out, !line->hopeless, line->accuracy);
		write_csv_number(out, planned, (double)line->interval);
		write_csv_number(out, planned, planned ? samples_at(plan, line->interval) : 0);
		write_csv_number(out, planned, planned ? trace_bytes_at(plan, line->interval) : 0);
		fputs("\r\n", out);
	}
}

bool bp_plan_write_profile(const struct bp_aggregation *aggregation, uint64_t interval,
	const struct bp_plan_question *question, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct plan plan = {
		.aggregation = aggregation, .question = question, .interval = interval
	};
	const struct bp_plan_aim aim = { question->accuracy, question->power,
		1 - question->confidence };
	const double needed = (double)bp_plan_samples(0, 0, aim);
	plan.count =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	plan.lines = calloc(plan.count + 1, sizeof *plan.lines);
	if (plan.lines == NULL)
		return bp_error_set(error, "no memory for %u rows", plan.count);
	for (uint32_t i = 1; i < aggregation->profile->processes.count; i++)
		plan.processes += aggregation->profile->processes.data[i].samples > 0;
	for (uint32_t i = 0; i < plan.count; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		plan.lines[i] = line_of(&plan, &row, needed);
	}
	if (format == BP_PLAN_JSON)
		write_json(&plan, out);
	else if (format == BP_PLAN_CSV)
		write_csv(&plan, out);
	else
		write_text(&plan, options, out);
	free(plan.lines);
	return true;
}
