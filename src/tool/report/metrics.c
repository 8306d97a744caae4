/* SPDX-License-Identifier: MIT */
/*
 * See metrics.h. A family is named once, and has a line for each recording that knows it. Counted
 * totals are counters, and what is certain of them; what is live is a gauge, with the limits of its
 * interval as gauges beside it, on which alerts can stand.
 */
#include "report/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/attributes.h"
#include "text/escape.h"

/* False: this recording does not know it. */
typedef bool value_of(const struct bp_metrics_source *source, double *ret_value);

static bool counted(const struct bp_figure *figure, double *ret_value)
{
	*ret_value = figure->interval.low;
	return isfinite(*ret_value);
}

static bool allocated_bytes(const struct bp_metrics_source *source, double *ret_value)
{
	return counted(&source->aggregation->totals[BP_METRIC_ALLOCATED].bytes, ret_value);
}

static bool allocated_objects(const struct bp_metrics_source *source, double *ret_value)
{
	return counted(&source->aggregation->totals[BP_METRIC_ALLOCATED].objects, ret_value);
}

static const struct bp_total *live(const struct bp_metrics_source *source)
{
	return &source->aggregation->totals[BP_METRIC_LIVE];
}

static bool live_bytes(const struct bp_metrics_source *source, double *ret_value)
{
	const struct bp_figure *bytes = &live(source)->bytes;
	*ret_value = bytes->interval.estimate;
	/* (With neither limit nothing is known.) */
	return live(source)->known && !(bytes->lower_bound && bytes->upper_bound) &&
	       isfinite(*ret_value);
}

static bool live_bytes_low(const struct bp_metrics_source *source, double *ret_value)
{
	*ret_value = live(source)->bytes.interval.low;
	return live(source)->known && !live(source)->bytes.upper_bound && isfinite(*ret_value);
}

static bool live_bytes_high(const struct bp_metrics_source *source, double *ret_value)
{
	*ret_value = live(source)->bytes.interval.high;
	return live(source)->known && !live(source)->bytes.lower_bound && isfinite(*ret_value);
}

static bool samples(const struct bp_metrics_source *source, double *ret_value)
{
	*ret_value = (double)source->aggregation->samples;
	return true;
}

static bool lost(const struct bp_metrics_source *source, double *ret_value)
{
	*ret_value = (double)source->aggregation->lost_samples;
	return true;
}

static bool resident_bytes(const struct bp_metrics_source *source, double *ret_value)
{
	const struct bp_resident *resident = source->resident;
	if (resident->count == 0)
		return false;
	*ret_value = (double)bp_resident_sum(&resident->points[resident->count - 1]);
	return true;
}

static const struct family {
	const char *name, *type, *help;
	value_of *value;
} families[] = {
	{ "bytepoll_allocated_bytes_total", "counter",
		"Bytes allocated while sampling was on, counted.", allocated_bytes },
	{ "bytepoll_allocated_objects_total", "counter",
		"Objects allocated while sampling was on, counted.", allocated_objects },
	{ "bytepoll_live_bytes", "gauge", "Bytes live at the end of the recording, estimated.",
		live_bytes },
	{ "bytepoll_live_low_bytes", "gauge", "Lower limit of bytepoll_live_bytes.",
		live_bytes_low },
	{ "bytepoll_live_high_bytes", "gauge", "Upper limit of bytepoll_live_bytes.",
		live_bytes_high },
	{ "bytepoll_resident_bytes", "gauge",
		"Resident memory at the last look of the recording, by the kernel.",
		resident_bytes },
	{ "bytepoll_samples_total", "counter", "Samples.", samples },
	{ "bytepoll_lost_events_total", "counter", "Events that could not be recorded.", lost },
};

/* A label's value: what must not reach a terminal as \\u{1b}, bytes that are no text as \\xff. */
static void write_value(const char *text, FILE *out)
{
	unsigned bytes;
	for (; *text != '\0'; text += bytes) {
		const uint32_t code = bp_utf8_next(text, &bytes);
		if (code == UINT32_MAX)
			fprintf(out, "\\\\x%02x", (unsigned char)*text);
		else if (bp_is_unsafe(code))
			fprintf(out, "\\\\u{%" PRIx32 "}", code);
		else
			fprintf(out, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)bytes,
				text);
	}
}

static void write_labels(const struct bp_metrics_source *source, FILE *out)
{
	const struct bp_profile *profile = source->aggregation->profile;
	const struct bp_process *process = &profile->processes.data[source->aggregation->subject.i];
	fputs("{program=\"", out);
	write_value(bp_process_name(profile, process), out);
	fprintf(out, "\",pid=\"%" PRIu32 "\",file=\"", process->pid);
	write_value(source->file, out);
	fputs("\"}", out);
}

static void write_family(const struct family *family, const struct bp_metrics_source *sources,
	size_t count, FILE *out)
{
	bool named = false;
	double value;
	for (size_t i = 0; i < count; i++) {
		if (!family->value(&sources[i], &value))
			continue;
		if (!named)
			fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
				family->name, family->type);
		named = true;
		fputs(family->name, out);
		write_labels(&sources[i], out);
		/* Counts in full, and of an estimate the digits that mean something. */
		fprintf(out, value == rint(value) ? " %.0f\n" : " %.12g\n", value);
	}
}

void bp_write_metrics(const struct bp_metrics_source *sources, size_t count, FILE *out)
{
	for (size_t i = 0; i < BP_COUNT(families); i++)
		write_family(&families[i], sources, count, out);
}
