/* SPDX-License-Identifier: MIT */
/*
 * The two charts that a sampling profiler is judged by, by size and T (they are those of memray's
 * page on sampling), and the table of the .NET document, as text, JSON and CSV.
 *
 * Probability: that n bytes, allocated in small objects, leave at least one sample. Error: the mean
 * absolute percentage error of the estimate of one object that was sampled. Both are drawn without
 * charge: a size is the number of trials. Quantiles: between which the number of bytes lies that
 * were not sampled before success number s.
 */
#include "plan/plan_tables.h"

#include <string.h>

#include "estimate/numeric/negative_binomial.h"
#include "estimate/plan.h"
#include "plan/plan.h"
#include "report/parts/header.h"
#include "text/escape.h"
#include "text/json_writer.h"

const char *const bp_plan_chart_names[BP_PLAN_CHART_COUNT] = { "probability", "error",
	"quantiles" };

const uint64_t bp_plan_table_samples[BP_PLAN_TABLE_SAMPLES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20,
	30, 40, 50, 100, 200, 300, 400, 500, 1000, 2000, 3000, 4000, 5000, 10000, 20000, 50000,
	100000 };

double bp_plan_table_value(enum bp_plan_chart chart, uint64_t size, uint64_t interval)
{
	return chart == BP_PLAN_CHART_PROBABILITY ? bp_plan_chance(size, interval)
						  : bp_plan_error_if_sampled(size, interval);
}

struct bp_interval bp_plan_table_quantiles(uint64_t samples, uint64_t interval, double confidence)
{
	double a = (1 - confidence) / 2;
	return (struct bp_interval){
		.estimate = (double)samples * (double)(interval - 1),
		.low = bp_negative_binomial_quantile(
			BP_NEGATIVE_BINOMIAL_EXACT, a, samples, interval),
		.high = bp_negative_binomial_quantile(
			BP_NEGATIVE_BINOMIAL_EXACT, 1 - a, samples, interval),
	};
}

/* "512", "4K", "2M": a power of two. */
void bp_plan_table_size(uint64_t size, char *buffer)
{
	unsigned shift = size >= 1 << 20 ? 20 : size >= 1 << 10 ? 10 : 0;
	snprintf(buffer, BP_QUANTITY_BYTES, "%llu%s", (unsigned long long)(size >> shift),
		shift == 20   ? "M"
		: shift == 10 ? "K"
			      : "");
}

static const char *const titles[BP_PLAN_CHART_COUNT] = {
	"Probability that so many bytes leave at least one sample, %",
	"Mean absolute error of one object's estimate if it was sampled, % of its size",
	"Bytes allocated before sample number s (those that were no success)",
};
static const char *const remarks[BP_PLAN_CHART_COUNT] = {
	"Bytes in small objects. One object of T bytes or more is always recorded (law exact).",
	"0 from T on (law exact). The mean of many objects is better by the root of their number.",
	"By the rule of the .NET document: the largest whole number below that probability.",
};

static void write_title(
	enum bp_plan_chart chart, const struct bp_report_options *options, FILE *out)
{
	fprintf(out, "%s%s%s\n%s\n\n", bp_style_bold(options), titles[chart], bp_style_end(options),
		remarks[chart]);
}

/* A percentage in at most six characters: "51.2k" for 51,200. */
static void cell_text(double percent, char *buffer)
{
	static const char suffixes[] = " kMG";
	unsigned power = 0;
	for (; percent >= 9999.5 || (power > 0 && percent >= 999.5); power++)
		percent /= 1000;
	if (percent > 0 && percent < 0.01)
		snprintf(buffer, BP_QUANTITY_BYTES, "<0.01");
	else if (power > 0)
		snprintf(buffer, BP_QUANTITY_BYTES, "%.3g%c", percent, suffixes[power]);
	else
		snprintf(buffer, BP_QUANTITY_BYTES, percent >= 99.95 ? "%.0f" : "%.3g", percent);
}

static void write_grid(enum bp_plan_chart chart, const struct bp_report_options *options, FILE *out)
{
	char text[BP_QUANTITY_BYTES];
	/* On narrow terminals the smallest T go, which are asked for least. */
	const unsigned room = options->columns > 13 ? (options->columns - 6) / 7 : 1;
	const unsigned first = room < BP_PLAN_TABLE_INTERVALS ? BP_PLAN_TABLE_INTERVALS - room : 0;
	write_title(chart, options, out);
	fprintf(out, "%6s", "size");
	for (unsigned i = first; i < BP_PLAN_TABLE_INTERVALS; i++) {
		bp_plan_table_size(bp_plan_table_interval(i), text);
		fprintf(out, " %*s%s", (int)(6 - strlen(text) - (i == first ? 2 : 0)), "",
			i == first ? "T=" : "");
		fputs(text, out);
	}
	putc('\n', out);
	for (unsigned row = 0; row < BP_PLAN_TABLE_SIZES; row += 2) {
		uint64_t size = (uint64_t)1 << row;
		bp_plan_table_size(size, text);
		fprintf(out, "%6s", text);
		for (unsigned i = first; i < BP_PLAN_TABLE_INTERVALS; i++) {
			double part = bp_plan_table_value(chart, size, bp_plan_table_interval(i));
			cell_text(100 * part, text);
			fprintf(out, " %6s", text);
		}
		putc('\n', out);
	}
}

static void write_quantiles(
	uint64_t interval, double confidence, const struct bp_report_options *options, FILE *out)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES], below[BP_QUANTITY_BYTES],
		above[BP_QUANTITY_BYTES];
	double a = (1 - confidence) / 2;
	write_title(BP_PLAN_CHART_QUANTILES, options, out);
	bp_plan_percent_text(a, below);
	bp_plan_percent_text(1 - a, above);
	fprintf(out, "T = %llu\n%8s %18s %18s %10s %10s\n", (unsigned long long)interval, "s",
		"bytes", "bytes", "times sT", "times sT");
	fprintf(out, "%8s %16s %% %16s %% %8s %% %8s %%\n", "", below, above, below, above);
	for (unsigned i = 0; i < BP_PLAN_TABLE_SAMPLES; i++) {
		uint64_t samples = bp_plan_table_samples[i];
		struct bp_interval row = bp_plan_table_quantiles(samples, interval, confidence);
		double mean = (double)samples * (double)interval;
		bp_count_text((uint64_t)row.low, low);
		bp_count_text((uint64_t)row.high, high);
		fprintf(out, "%8llu %18s %18s %10.4f %10.4f\n", (unsigned long long)samples, low,
			high, row.low / mean, row.high / mean);
	}
}

static void write_text(unsigned charts, uint64_t interval, double confidence,
	const struct bp_report_options *options, FILE *out)
{
	const char *gap = "";
	for (unsigned chart = 0; chart < BP_PLAN_CHART_COUNT; chart++) {
		if (!(charts >> chart & 1))
			continue;
		fputs(gap, out);
		gap = "\n";
		if (chart == BP_PLAN_CHART_QUANTILES)
			write_quantiles(interval, confidence, options, out);
		else
			write_grid((enum bp_plan_chart)chart, options, out);
	}
}

static void write_grid_json(enum bp_plan_chart chart, struct bp_json *json)
{
	bp_json_array(json, bp_plan_chart_names[chart], BP_JSON_LINES);
	for (unsigned i = 0; i < BP_PLAN_TABLE_INTERVALS; i++) {
		const uint64_t interval = bp_plan_table_interval(i);
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_whole(json, "interval", interval);
		bp_json_array(json, "points", BP_JSON_SPACED);
		for (unsigned j = 0; j < BP_PLAN_TABLE_SIZES; j++) {
			const uint64_t size = (uint64_t)1 << j;
			bp_json_array(json, NULL, BP_JSON_SPACED);
			bp_json_whole(json, NULL, size);
			bp_json_number(json, NULL, bp_plan_table_value(chart, size, interval));
			bp_json_end(json);
		}
		bp_json_end(json);
		bp_json_end(json);
	}
	bp_json_end(json);
}

static void write_quantiles_json(uint64_t interval, double confidence, struct bp_json *json)
{
	bp_json_object(json, "quantiles", BP_JSON_SPACED);
	bp_json_whole(json, "interval", interval);
	bp_json_digits(json, "confidence", confidence, 12);
	bp_json_array(json, "rows", BP_JSON_LINES);
	for (unsigned i = 0; i < BP_PLAN_TABLE_SAMPLES; i++) {
		const uint64_t samples = bp_plan_table_samples[i];
		const struct bp_interval row =
			bp_plan_table_quantiles(samples, interval, confidence);
		bp_json_object(json, NULL, BP_JSON_SPACED);
		bp_json_whole(json, "samples", samples);
		bp_json_fixed(json, "low", row.low, 0);
		bp_json_fixed(json, "high", row.high, 0);
		bp_json_end(json);
	}
	bp_json_end(json);
	bp_json_end(json);
}

static void write_json(unsigned charts, uint64_t interval, double confidence, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-plan-tables-1");
	for (unsigned chart = 0; chart < BP_PLAN_CHART_COUNT; chart++) {
		if (!(charts >> chart & 1))
			continue;
		if (chart == BP_PLAN_CHART_QUANTILES)
			write_quantiles_json(interval, confidence, &json);
		else
			write_grid_json((enum bp_plan_chart)chart, &json);
	}
	bp_json_end_document(&json);
}

static void write_csv_line(
	FILE *out, const char *chart, uint64_t interval, uint64_t x, double value)
{
	fprintf(out, "%s,%llu,%llu,%.9g\r\n", chart, (unsigned long long)interval,
		(unsigned long long)x, value);
}

static void write_csv(unsigned charts, uint64_t interval, double confidence, FILE *out)
{
	fputs("chart,interval_bytes,x,value\r\n", out);
	for (unsigned chart = 0; chart < BP_PLAN_CHART_QUANTILES; chart++)
		for (unsigned i = 0; charts >> chart & 1 && i < BP_PLAN_TABLE_INTERVALS; i++)
			for (unsigned j = 0; j < BP_PLAN_TABLE_SIZES; j++)
				write_csv_line(out, bp_plan_chart_names[chart],
					bp_plan_table_interval(i), (uint64_t)1 << j,
					bp_plan_table_value((enum bp_plan_chart)chart,
						(uint64_t)1 << j, bp_plan_table_interval(i)));
	if (!(charts >> BP_PLAN_CHART_QUANTILES & 1))
		return;
	for (unsigned i = 0; i < BP_PLAN_TABLE_SAMPLES; i++) {
		uint64_t samples = bp_plan_table_samples[i];
		struct bp_interval row = bp_plan_table_quantiles(samples, interval, confidence);
		write_csv_line(out, "quantile_low", interval, samples, row.low);
		write_csv_line(out, "quantile_high", interval, samples, row.high);
	}
}

void bp_plan_write_tables(unsigned charts, uint64_t interval, double confidence,
	enum bp_plan_format format, const struct bp_report_options *options, FILE *out)
{
	if (format == BP_PLAN_JSON)
		write_json(charts, interval, confidence, out);
	else if (format == BP_PLAN_CSV)
		write_csv(charts, interval, confidence, out);
	else
		write_text(charts, interval, confidence, options, out);
}
