/* SPDX-License-Identifier: MIT */
/*
 * Which T a service on many hosts needs, and what it costs: for 10, 1,000 and 100,000 hosts the
 * largest T at which a change of all of them is found in an hour of recordings, from hosts that are
 * a sample of their kind (estimate/plan.h, bp_plan_hosts_power). Where hosts differ so much that no
 * T finds it, the fewest hosts that would are named instead.
 */
#include <math.h>

#include "base/attributes.h"
#include "estimate/plan.h"
#include "plan/plan.h"
#include "report/parts/header.h"
#include "text/json_writer.h"

#define SECONDS_OF_HOUR 3600.0
#define SECONDS_OF_DAY 86400.0
#define GIB (UINT64_C(1) << 30)

static const double host_counts[] = { 10, 1000, 100000 };

struct column {
	double hosts, interval; /* 0: none serves */
	double power;		/* reached */
	double samples;		/* of a host in an hour */
	double bytes;		/* of all hosts in a day, in the store */
	double question_s;	/* about a day of all hosts */
	double busy;		/* part of a processor of each host */
};

static struct bp_plan_hosts hosts_of(const struct bp_plan_fleet *fleet)
{
	return (struct bp_plan_hosts){ fleet->bytes_per_s * SECONDS_OF_HOUR, fleet->variation,
		fleet->change };
}

/* What a T costs and gives. */
static struct column column_at(const struct bp_plan_fleet *fleet, double hosts, double interval)
{
	const struct bp_plan_hosts plan = hosts_of(fleet);
	const double a_day = hosts * fleet->bytes_per_s * SECONDS_OF_DAY / interval;
	return (struct column){ .hosts = hosts,
		.interval = interval,
		.power = bp_plan_hosts_power(plan, hosts, interval, 1 - fleet->confidence),
		.samples = plan.bytes / interval,
		.bytes = a_day * BP_PLAN_STORE_BYTES_PER_SAMPLE +
			 hosts * BP_PLAN_STORE_BYTES_PER_RUN,
		.question_s = a_day * BP_PLAN_STORE_SECONDS_PER_SAMPLE +
			      hosts * BP_PLAN_STORE_SECONDS_PER_RUN,
		.busy = fleet->bytes_per_s / interval * BP_PLAN_SECONDS_PER_SAMPLE };
}

static struct column column_of(const struct bp_plan_fleet *fleet, double hosts)
{
	const double interval = floor(bp_plan_hosts_interval(
		hosts_of(fleet), hosts, fleet->power, 1 - fleet->confidence));
	if (interval < 1)
		return (struct column){ .hosts = hosts };
	return column_at(fleet, hosts, (double)bp_plan_round_interval((uint64_t)interval));
}

/* Of many hosts T may be many GiB. */
static void interval_text(uint64_t interval, char buffer[BP_QUANTITY_BYTES])
{
	if (interval % GIB == 0)
		snprintf(buffer, BP_QUANTITY_BYTES, "%lluG", (unsigned long long)(interval / GIB));
	else
		bp_interval_text(interval, buffer);
}

static void write_column(const struct column *column, const struct bp_plan_fleet *fleet,
	struct bp_quantity_style style, FILE *out)
{
	char hosts[BP_QUANTITY_BYTES], interval[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	char bytes[BP_QUANTITY_BYTES], power[BP_QUANTITY_BYTES], busy[BP_QUANTITY_BYTES];
	bp_count_text((uint64_t)column->hosts, hosts);
	if (column->interval < 1) {
		const double least = bp_plan_hosts_least(
			hosts_of(fleet), 1, fleet->power, 1 - fleet->confidence);
		bp_count_text((uint64_t)least, samples);
		fprintf(out,
			"  %7s  no T finds it: the hosts differ too much, and %s would be needed\n",
			hosts, samples);
		return;
	}
	interval_text((uint64_t)column->interval, interval);
	if (column->samples < 10)
		snprintf(samples, sizeof samples, "%.2g", column->samples);
	else
		bp_count_text((uint64_t)llround(column->samples), samples);
	bp_bytes_text((uint64_t)fmin(column->bytes, 0x1p63), style, bytes);
	bp_plan_percent_text(column->power, power);
	bp_plan_percent_text(column->busy, busy);
	fprintf(out, "  %7s  %8s  %5s %%  %12s  %10s  %8.3g s  %8s %%\n", hosts, interval, power,
		samples, bytes, column->question_s, busy);
}

static void write_text(
	const struct bp_plan_fleet *fleet, const struct bp_report_options *options, FILE *out)
{
	const struct bp_quantity_style style = bp_style_of(options);
	char rate[BP_QUANTITY_BYTES], change[BP_QUANTITY_BYTES], variation[BP_QUANTITY_BYTES];
	char power[BP_QUANTITY_BYTES], confidence[BP_QUANTITY_BYTES], text[640];
	bp_bytes_text((uint64_t)fleet->bytes_per_s, style, rate);
	bp_plan_percent_text(fabs(fleet->change - 1), change);
	bp_plan_percent_text(fleet->variation, variation);
	bp_plan_percent_text(fleet->power, power);
	bp_plan_percent_text(fleet->confidence, confidence);
	fprintf(out,
		"%sTo find %s %% %s in an hour%s, of %s/s on each host, where hosts differ by %s %%\n\n"
		"    hosts         T    power  samples/hour   bytes/day   question         CPU\n",
		bp_style_bold(options), change, fleet->change > 1 ? "more" : "less",
		bp_style_end(options), rate, variation);
	for (size_t i = 0; i < BP_COUNT(host_counts); i++) {
		const struct column column = column_of(fleet, host_counts[i]);
		write_column(&column, fleet, style, out);
	}
	fputs("\n  the same at the default T:\n", out);
	for (size_t i = 0; i < BP_COUNT(host_counts); i++) {
		const struct column column =
			column_at(fleet, host_counts[i], BP_PLAN_INTERVAL_DEFAULT);
		write_column(&column, fleet, style, out);
	}
	snprintf(text, sizeof text,
		"T is the largest round one with which an hour of so many hosts, compared with an hour "
		"of as many other hosts by Welch's test, shows the change with a probability of %s %% "
		"at least, at the confidence %s %% (two-sided, one figure). `bytepoll fleet diff --hosts "
		"sample` makes that test.",
		power, confidence);
	putc('\n', out);
	bp_write_note(options, text, out);
	bp_write_note(options,
		"Objects are taken to be small against T, the worst case. What all of a service "
		"allocates is counted, and needs no samples. Samples are of a host; bytes are of the "
		"store, 21 a sample and 40 kB a run, with a run a day on each host; a question is one "
		"about all of a day: .1 us a sample and 8 ms a run (docs/fleet.md); CPU is of one "
		"processor of a host, 1.5 us a sample (docs/benchmarks.md).",
		out);
}

/* Nulls: no T serves. */
static void write_json_column(struct bp_json *json, struct column column)
{
	const bool found = column.interval >= 1;
	bp_json_object(json, NULL, BP_JSON_SPACED);
	bp_json_whole(json, "hosts", (uint64_t)column.hosts);
	bp_json_number(json, "interval", found ? column.interval : NAN);
	bp_json_number(json, "power", found ? column.power : NAN);
	bp_json_number(json, "samples_per_host_and_hour", found ? column.samples : NAN);
	bp_json_number(json, "store_bytes_per_day", found ? column.bytes : NAN);
	bp_json_number(json, "question_s", found ? column.question_s : NAN);
	bp_json_number(json, "processor_share", found ? column.busy : NAN);
	bp_json_end(json);
}

static void write_json(const struct bp_plan_fleet *fleet, FILE *out)
{
	struct bp_json json = bp_json_begin(out);
	const double level = 1 - fleet->confidence;
	bp_json_object(&json, NULL, BP_JSON_LINES);
	bp_json_text(&json, "schema", "bytepoll-plan-fleet-1");
	bp_json_digits(&json, "bytes_per_s", fleet->bytes_per_s, 12);
	bp_json_digits(&json, "host_variation", fleet->variation, 12);
	bp_json_digits(&json, "change", fleet->change, 12);
	bp_json_digits(&json, "power", fleet->power, 10);
	bp_json_digits(&json, "confidence", fleet->confidence, 12);
	bp_json_whole(&json, "least_hosts",
		(uint64_t)bp_plan_hosts_least(hosts_of(fleet), 1, fleet->power, level));
	bp_json_array(&json, "fleets", BP_JSON_LINES);
	for (size_t i = 0; i < BP_COUNT(host_counts); i++)
		write_json_column(&json, column_of(fleet, host_counts[i]));
	bp_json_end(&json);
	bp_json_array(&json, "at_default", BP_JSON_LINES);
	for (size_t i = 0; i < BP_COUNT(host_counts); i++)
		write_json_column(
			&json, column_at(fleet, host_counts[i], BP_PLAN_INTERVAL_DEFAULT));
	bp_json_end(&json);
	bp_json_end_document(&json);
}

void bp_plan_write_fleet(const struct bp_plan_fleet *fleet, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out)
{
	if (format == BP_PLAN_JSON)
		write_json(fleet, out);
	else
		write_text(fleet, options, out);
}
