/* SPDX-License-Identifier: MIT */
/*
 * The charts of `bytepoll plan`: what is drawn; chart_svg.c draws it. Curves are computed at eight
 * points an octave. The error is drawn up to its jump to 0 at T, where the law `exact` begins.
 */
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "plan/charts/chart_svg.h"
#include "plan/plan_tables.h"

#define OCTAVES (BP_PLAN_TABLE_SIZES - 1)
#define POINTS_PER_OCTAVE 8
#define POINTS (OCTAVES * POINTS_PER_OCTAVE + 2)
#define QUANTILE_POINTS BP_PLAN_TABLE_SAMPLES
#define ERROR_FLOOR 0.3 /* of the axis of errors, a part of 1 */

struct curves {
	double x[BP_PLAN_TABLE_INTERVALS][POINTS], y[BP_PLAN_TABLE_INTERVALS][POINTS];
	char names[BP_PLAN_TABLE_INTERVALS][BP_QUANTITY_BYTES];
	struct bp_chart_series series[BP_CHART_SERIES_MAX];
	struct bp_chart_tick x_ticks[16], y_ticks[16];
};

static void tick(struct bp_chart_tick *ticks, unsigned *count, double at, const char *label)
{
	struct bp_chart_tick *added = &ticks[(*count)++];
	added->at = at;
	snprintf(added->label, sizeof added->label, "%.15s", label);
}

/* One curve for an interval: all sizes; of errors those below T, and then down. */
static unsigned fill_curve(enum bp_plan_chart chart, uint64_t interval, double *x, double *y)
{
	unsigned count = 0;
	for (unsigned i = 0; i <= OCTAVES * POINTS_PER_OCTAVE; i++) {
		double size = exp2((double)i / POINTS_PER_OCTAVE);
		bool exact = chart == BP_PLAN_CHART_ERROR && size >= (double)interval;
		/* Between whole sizes, by the same law at a finer scale. */
		uint64_t trials = (uint64_t)llround(size * 1024);
		x[count] = size;
		y[count] = exact ? 0.5819767 : bp_plan_table_value(chart, trials, interval * 1024);
		count++;
		if (!exact)
			continue;
		x[count] = size;
		y[count] = ERROR_FLOOR / 10;
		return count + 1;
	}
	return count;
}

static struct bp_chart curves_chart(enum bp_plan_chart which, struct curves *curves)
{
	struct bp_chart chart = { .legend = "mean interval T", .series = curves->series };
	char label[BP_QUANTITY_BYTES];
	for (unsigned i = 0; i < BP_PLAN_TABLE_INTERVALS; i++) {
		uint64_t interval = bp_plan_table_interval(i);
		bp_bytes_text(interval, (struct bp_quantity_style){ 0 }, curves->names[i]);

		curves->series[i] = (struct bp_chart_series){ curves->names[i], i, curves->x[i],
			curves->y[i], fill_curve(which, interval, curves->x[i], curves->y[i]) };
	}
	chart.series_count = BP_PLAN_TABLE_INTERVALS;
	chart.x = (struct bp_chart_axis){ NULL, 1, exp2(OCTAVES), true, curves->x_ticks, 0 };
	for (unsigned i = 0; i <= OCTAVES; i += 2) {
		bp_plan_table_size((uint64_t)1 << i, label);
		tick(curves->x_ticks, &chart.x.tick_count, exp2(i), label);
	}
	return chart;
}

static struct bp_chart probability_chart(struct curves *curves)
{
	struct bp_chart chart = curves_chart(BP_PLAN_CHART_PROBABILITY, curves);
	char label[16];
	chart.title = "Probability of at least one sample";
	chart.remark =
		"of bytes in small objects; one object of T bytes or more is always recorded";
	chart.x.label = "bytes allocated";
	chart.y = (struct bp_chart_axis){ "probability", 0, 1, false, curves->y_ticks, 0 };
	for (int i = 0; i <= 10; i += 2) {
		snprintf(label, sizeof label, "%d %%", 10 * i);
		tick(curves->y_ticks, &chart.y.tick_count, i / 10.0, label);
	}
	return chart;
}

static struct bp_chart error_chart(struct curves *curves)
{
	static const char *const labels[] = { "100 %", "1,000 %", "10,000 %", "10\xe2\x81\xb5 %",
		"10\xe2\x81\xb6 %", "10\xe2\x81\xb7 %", "10\xe2\x81\xb8 %" };
	struct bp_chart chart = curves_chart(BP_PLAN_CHART_ERROR, curves);
	chart.title = "Mean absolute percentage error of one sampled object";
	chart.remark =
		"1/\xcf\x80 - 1 below T, none from T on (law exact); figures of many objects "
		"are better";
	chart.x.label = "size of the object, bytes";
	chart.y = (struct bp_chart_axis){ "error, % of its size", ERROR_FLOOR, 4e6, true,
		curves->y_ticks, 0 };
	for (unsigned i = 0; i < BP_COUNT(labels); i++)
		tick(curves->y_ticks, &chart.y.tick_count, pow(10, i), labels[i]);
	return chart;
}

static struct bp_chart quantiles_chart(
	struct curves *curves, uint64_t interval, double confidence, char *remark, size_t bytes)
{
	static const char *const samples_marks[] = { "1", "10", "100", "1,000", "10,000",
		"100,000" };
	static const double marks[] = { 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4 };
	struct bp_chart chart = { .legend = "limit", .series = curves->series, .series_count = 3 };
	char percent[BP_QUANTITY_BYTES], label[16];
	unsigned used = 0;
	for (; used < QUANTILE_POINTS; used++) {
		uint64_t samples = bp_plan_table_samples[used];
		struct bp_interval row = bp_plan_table_quantiles(samples, interval, confidence);
		double mean = (double)samples * (double)interval;
		for (unsigned i = 0; i < 3; i++)
			curves->x[i][used] = (double)samples;
		curves->y[0][used] = row.low / mean;
		curves->y[1][used] = row.high / mean;
		curves->y[2][used] = 1;
	}
	bp_plan_percent_text((1 - confidence) / 2, percent);
	snprintf(curves->names[0], BP_QUANTITY_BYTES, "%.40s %%", percent);
	bp_plan_percent_text((1 + confidence) / 2, percent);
	snprintf(curves->names[1], BP_QUANTITY_BYTES, "%.40s %%", percent);
	snprintf(curves->names[2], BP_QUANTITY_BYTES, "s T");
	/* The legend in the order of the lines, from above. */
	static const unsigned order[] = { 1, 2, 0 }, colours[] = { 2, 12, BP_CHART_GREY };
	for (unsigned i = 0; i < BP_COUNT(order); i++)
		curves->series[i] = (struct bp_chart_series){ curves->names[order[i]],
			colours[order[i]], curves->x[order[i]], curves->y[order[i]], used };
	snprintf(remark, bytes, "the negative binomial limits of the .NET document, T = %llu",
		(unsigned long long)interval);
	chart.title = "Bytes allocated before sample number s, as multiples of s T";
	chart.remark = remark;
	chart.x = (struct bp_chart_axis){ "samples s", 1, 1e5, true, curves->x_ticks, 0 };
	for (unsigned i = 0; i < BP_COUNT(samples_marks); i++)
		tick(curves->x_ticks, &chart.x.tick_count, pow(10, i), samples_marks[i]);
	chart.y = (struct bp_chart_axis){ "multiple of s T", 0.02, 5, true, curves->y_ticks, 0 };
	for (unsigned i = 0; i < BP_COUNT(marks); i++) {
		snprintf(label, sizeof label, "%g", marks[i]);
		tick(curves->y_ticks, &chart.y.tick_count, marks[i], label);
	}
	return chart;
}

/* In words, for those who cannot see the charts. */
static const char *const descriptions[BP_PLAN_CHART_COUNT] = {
	"The probability that bytes leave at least one sample rises from near 0 far below the mean "
	"interval T over 63 percent at T to 100 percent at a few T. ",
	"The mean absolute percentage error of one sampled object falls from about T divided by "
	"its size for small ones to 58 percent just below T, and is 0 from T on. ",
	"The limits of the bytes allocated before sample number s close in on s T: at 95 percent "
	"from .025 and 3.7 times at one sample to within one percent at a hundred thousand. ",
};

bool bp_plan_can_draw(struct bp_error *error)
{
	(void)error;
	return true;
}

void bp_plan_write_svg(unsigned charts, uint64_t interval, double confidence, FILE *out)
{
	struct curves curves[BP_PLAN_CHART_COUNT]; /* 110 KB */
	struct bp_chart drawn[BP_PLAN_CHART_COUNT];
	char remark[128], description[1024] = "";
	unsigned count = 0;
	memset(curves, 0, sizeof curves);
	for (unsigned chart = 0; chart < BP_PLAN_CHART_COUNT; chart++) {
		if (!(charts >> chart & 1))
			continue;
		strcat(description, descriptions[chart]);
		drawn[count++] =
			chart == BP_PLAN_CHART_PROBABILITY ? probability_chart(&curves[chart])
			: chart == BP_PLAN_CHART_ERROR	   ? error_chart(&curves[chart])
						       : quantiles_chart(&curves[chart], interval,
								 confidence, remark, sizeof remark);
	}
	strcat(description, "The numbers: bytepoll plan --table.");
	bp_chart_svg_write("What a sampling interval can show", description, drawn, count, out);
}
