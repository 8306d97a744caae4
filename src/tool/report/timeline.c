/* SPDX-License-Identifier: MIT */
/*
 * The heap over time, for a terminal: time runs downwards, one line a moment, each with its
 * interval as a bar, so that the bars together are the confidence band. Every line is what `--at`
 * shows for its moment.
 */
#include <math.h>
#include <stdlib.h>

#include "query/filter.h"
#include "report/parts/bar.h"
#include "report/parts/header.h"
#include "report/report.h"

#define BAR_COLUMNS_MIN 12

struct line {
	char time[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES];
};

static unsigned wider(unsigned columns, const char *text)
{
	unsigned width = bp_text_columns(text);
	return width > columns ? width : columns;
}

static void write_right(const char *text, unsigned columns, FILE *out)
{
	fprintf(out, "%*s%s", (int)(columns - bp_text_columns(text)), "", text);
}

static bool any_off(const struct bp_moment_figures *moments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (moments[i].off && !moments[i].unrecorded)
			return true;
	return false;
}

static void write_moments(const struct bp_moment_figures *moments, struct line *lines,
	uint32_t count, const struct bp_report_options *options, FILE *out)
{
	unsigned times = 4, numbers = 5;
	double scale_end = 0;
	char right[BP_QUANTITY_BYTES];
	for (uint32_t i = 0; i < count; i++) {
		bp_time_text(moments[i].time_ns, lines[i].time);
		if (moments[i].unrecorded) {
			times = wider(times, lines[i].time);
			continue;
		}
		bp_bytes_figure_text(&moments[i].bytes, bp_style_of(options), lines[i].bytes);
		times = wider(times, lines[i].time);
		numbers = wider(numbers, lines[i].bytes);
		scale_end = fmax(scale_end, moments[i].bytes.interval.high);
	}
	unsigned taken = 2 + times + 2 + 2 + numbers + (any_off(moments, count) ? 5 : 0);
	unsigned bar = options->columns > taken + BAR_COLUMNS_MIN ? options->columns - taken
								  : BAR_COLUMNS_MIN;
	bp_bytes_text((uint64_t)scale_end, bp_style_of(options), right);
	fprintf(out, "\n  %s%*s  0%*s  %*s%s\n", bp_style_bold(options), (int)times, "time",
		(int)bar - 1, right, (int)numbers, "live", bp_style_end(options));
	for (uint32_t i = 0; i < count; i++) {
		fputs("  ", out);
		write_right(lines[i].time, times, out);
		fputs("  ", out);
		if (moments[i].unrecorded) {
			fputs("(nothing was recorded)\n", out);
			continue;
		}
		bp_write_bar(&moments[i].bytes.interval, scale_end, bar, options, out);
		fputs("  ", out);
		write_right(lines[i].bytes, numbers, out);
		fputs(moments[i].off ? "  off\n" : "\n", out);
	}
}

static bool write_timeline(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	uint32_t count = options->moments;
	struct bp_moment_figures *moments = calloc(count, sizeof *moments);
	struct line *lines = calloc(count, sizeof *lines);
	bool good = moments != NULL && lines != NULL;
	if (!good)
		bp_error_set(error, "out of memory");
	good = good && bp_aggregation_timeline(aggregation, count, moments, error);
	if (good) {
		bp_write_header(aggregation, options, out);
	}
	/* The header says where there are no figures. (What was freed has lived before the end.) */
	if (good &&
		(aggregation->totals[BP_METRIC_LIVE].known ||
			bp_without_what_lives(&aggregation->query)) &&
		!(aggregation->absent & 1u << BP_METRIC_PEAK)) {
		write_moments(moments, lines, count, options, out);
		putc('\n', out);
		bp_write_bar_legend(options, out);
		fputs("  Each interval holds by itself; that all of them do is less likely.\n",
			out);
		if (any_off(moments, count))
			fputs("  off: sampling was off for some thread; what it allocated is not "
			      "seen.\n",
				out);
	} else if (good) {
		putc('\n', out);
		bp_write_note(options,
			"There is no timeline: this file does not tell what lived when.", out);
	}
	free(moments);
	free(lines);
	return good;
}

const struct bp_report bp_report_timeline = {
	.name = "timeline", .for_eyes = true, .write = write_timeline
};
