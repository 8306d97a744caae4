/* SPDX-License-Identifier: MIT */
/*
 * The peak on heaps whose moments differ in kind (mixed_heap.h), through everything that a report
 * uses.
 *
 * One block that is recorded with certainty beside many small objects at another time is the worst
 * case of an upper limit that is read at the moment of the largest estimate: the block is chosen
 * when the small objects' estimate came out low, and its own limit does not know of them. Counted:
 * how often the interval of the peak misses on each side; how often the limit at the chosen moment
 * alone would (which must fail, or the test is none); how often a `check` at its default error of 1
 * % would find the peak within a limit below it; how often a row of --metric peak misses what was
 * live at the named moment, in bytes and in objects (of rows with a sample), and their sum; and
 * that nothing contradicts itself: estimates lie within limits, the peak is not below what is
 * certain to have been live at the named moment, rows add up to that moment's figure, a row with
 * samples is not 0.
 *
 * And differences of peaks: of a heap with itself, where every verdict is false, and of two that
 * differ.
 *
 * Of R repetitions no more may miss on a side than a method that errs in exactly 2.75 % exceeds
 * with probability 1e-10, by the binomial distribution; with about 100 assertions the false-alarm
 * rate of a run is below 1e-8. Seeds are recorded.
 *
 * BYTEPOLL_LONG_TESTS=1 takes 20,000 repetitions; --table FILE writes the table of the
 * documentation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "diff/diff.h"
#include "estimate/estimate.h"
#include "mixed_heap.h"
#include "small_profile.h"

static const double false_alarm = 1e-10, tail = .0275, gate_error = .011;
static FILE *table;
static bool is_long;

#define SMALL(live)                           \
	{                                     \
		1 / 32., live, 0, 0, 0, false \
	}
#define BLOCK(live)                        \
	{                                  \
		live, live, 0, 0, 1, false \
	}

struct scene {
	struct mixed_plan plan;
	unsigned short_runs;
	bool bites; /* the limit at the chosen moment alone must be seen to fail */
};

static const struct scene scenes[] = {
	{ { "small, 2.5 T, then a block of .9", 2, { SMALL(2.5), BLOCK(2.25) } }, 2000, false },
	{ { "small, 10 T, then a block of .5", 2, { SMALL(10), BLOCK(5) } }, 2000, false },
	{ { "small, 31 T, then a block of .9", 2, { SMALL(31), BLOCK(27.9) } }, 1000, false },
	{ { "small, 100 T, then a block of .90", 2, { SMALL(100), BLOCK(90) } }, 1000, true },
	{ { "small, 100 T, then a block of .95", 2, { SMALL(100), BLOCK(95) } }, 1000, true },
	{ { "a block of .95, then small, 100 T", 2, { BLOCK(95), SMALL(100) } }, 1000, true },
	{ { "small, 1000 T, then a block of .98", 2, { SMALL(1000), BLOCK(980) } }, 300, true },
	{ { "the same over 20 T that stay", 3,
		  { { 1 / 8., 20, 0, 0, 3, true }, SMALL(100), BLOCK(95) } },
		1000, false },
	{ { "twelve teeth of four kinds, 30 T", 12,
		  { { 1 / 32., 30, 0, 0, 0, false }, { .3, 30, 0, 0, 1, false },
			  { .8, 30, 0, 0, 2, false }, { 1.5, 30, 0, 0, 3, false },
			  { 1 / 32., 30, 0, 0, 0, false }, { .3, 30, 0, 0, 1, false },
			  { .8, 30, 0, 0, 2, false }, { 1.5, 30, 0, 0, 3, false },
			  { 1 / 32., 30, 0, 0, 0, false }, { .3, 30, 0, 0, 1, false },
			  { .8, 30, 0, 0, 2, false }, { 1.5, 30, 0, 0, 3, false } } },
		1000, false },
	{ { "flat, 10 turnovers of 30 T, then a block of .98", 2,
		  { { 1 / 32., 30, 10, 0, 0, false }, BLOCK(29.4) } },
		500, false },
	{ { "three phases at T, 4 T and 16 T, 100 T", 3,
		  { { 1 / 32., 98, 0, 1, 0, false }, { 1 / 32., 99, 0, 4, 1, false },
			  { 1 / 32., 100, 0, 16, 2, false } } },
		1000, false },
	{ { "16 T first, then T, then a block, 100 T", 3,
		  { { 1 / 32., 100, 0, 16, 0, false }, { 1 / 32., 99, 0, 1, 1, false },
			  BLOCK(98) } },
		1000, false },
};

struct sides {
	unsigned low, high;
};

struct result {
	unsigned runs, contradictions, chosen_high, gate;
	double estimate, width; /* over the truth, summed */
	struct sides total, rows[MIXED_ROWS], moment, objects[MIXED_ROWS + 1];
};

static void count(struct sides *sides, double truth, const struct bp_interval *interval)
{
	sides->low += truth < interval->low * (1 - 1e-12);
	sides->high += truth > interval->high * (1 + 1e-12);
}

static void look_at_rows(const struct bp_aggregation *aggregation, const struct mixed_heap *heap,
	uint64_t interval_max, struct result *result)
{
	static const char *const names[MIXED_ROWS] = { "row0", "row1", "row2", "row3" };
	const struct bp_interval *moment = &aggregation->peak_moment.bytes.interval;
	double sum = 0, whole = 0, whole_objects = 0;
	for (unsigned row = 0; row < MIXED_ROWS; row++) {
		const double truth = mixed_row(heap, row, false, aggregation->peak_at_ns);
		const double objects = mixed_row(heap, row, true, aggregation->peak_at_ns);
		struct bp_interval interval = { 0, 0, -log(.025) / bp_lambda(interval_max), 0, 0 };
		if (small_has_row(aggregation, names[row])) {
			const struct bp_row found = small_row(aggregation, names[row]);
			interval = found.bytes.interval;
			count(&result->objects[row], objects, &found.objects.interval);
			result->contradictions += !(interval.estimate > 0);
		}
		count(&result->rows[row], truth, &interval);
		sum += interval.estimate;
		whole += truth;
		whole_objects += objects;
	}
	count(&result->moment, whole, moment);
	count(&result->objects[MIXED_ROWS], whole_objects,
		&aggregation->peak_moment.objects.interval);
	result->contradictions += !(fabs(sum - moment->estimate) <= 1e-9 * moment->estimate);
}

static void look(const struct mixed_heap *heap, const struct bp_aggregation *aggregation,
	uint64_t interval_max, struct result *result)
{
	const struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	const struct bp_interval *bytes = &peak->bytes.interval;
	const struct bp_interval *moment = &aggregation->peak_moment.bytes.interval;
	count(&result->total, heap->peak_bytes, bytes);
	result->chosen_high += heap->peak_bytes > moment->high * (1 + 1e-12);
	result->estimate += bytes->estimate / heap->peak_bytes;
	result->width += (bytes->high - bytes->low) / heap->peak_bytes;
	result->contradictions +=
		!(bytes->low <= bytes->estimate && bytes->estimate <= bytes->high);
	result->contradictions += bytes->low < moment->low || bytes->high < moment->high;
	look_at_rows(aggregation, heap, interval_max, result);
}

/* Would `check` at its default of 1 % find the peak within a limit that it is above? */
static bool is_falsely_within(const struct mixed_heap *heap)
{
	struct bp_query query = { .metric = BP_METRIC_PEAK, .confidence = .98 };
	struct bp_aggregation aggregation;
	struct bp_error error;
	assert_true(bp_aggregate(&heap->profile, &query, &aggregation, &error));
	const double high = aggregation.totals[BP_METRIC_PEAK].bytes.interval.high;
	bp_aggregation_finish(&aggregation);
	return high <= heap->peak_bytes - 1;
}

static struct result run_scene(const struct scene *scene, unsigned runs, uint64_t seed)
{
	struct result result = { .runs = runs };
	struct stream stream = { seed };
	for (unsigned i = 0; i < runs; i++) {
		struct bp_query query = { .metric = BP_METRIC_PEAK };
		struct mixed_heap heap;
		mixed_make(&heap, &scene->plan, &stream);
		const uint64_t interval_max = heap.profile.processes.data[1].interval_max;
		struct bp_aggregation aggregation = small_aggregate(&heap.profile, &query);
		look(&heap, &aggregation, interval_max, &result);
		result.gate += is_falsely_within(&heap);
		bp_aggregation_finish(&aggregation);
		mixed_finish(&heap);
	}
	return result;
}

static struct sides worst_of(const struct sides *rows, unsigned count)
{
	struct sides worst = { 0, 0 };
	for (unsigned row = 0; row < count; row++) {
		worst.low = rows[row].low > worst.low ? rows[row].low : worst.low;
		worst.high = rows[row].high > worst.high ? rows[row].high : worst.high;
	}
	return worst;
}

static void write_scene(const struct scene *scene, const struct result *result)
{
	const double n = result->runs;
	const struct sides rows = worst_of(result->rows, MIXED_ROWS);
	const struct sides objects = worst_of(result->objects, MIXED_ROWS + 1);
	print_message("# %s, %u runs: estimate %+.1f %%, width %.1f %%, limit of the chosen moment "
		      "misses %.2f %%; misses %.2f %% below, %.2f above, %.2f for 1; the "
		      "moment %.2f %.2f; rows %.2f %.2f; objects %.2f %.2f\n",
		scene->plan.name, result->runs, 100 * (result->estimate / n - 1),
		100 * result->width / n, 100 * result->chosen_high / n, 100 * result->total.low / n,
		100 * result->total.high / n, 100 * result->gate / n, 100 * result->moment.low / n,
		100 * result->moment.high / n, 100 * rows.low / n, 100 * rows.high / n,
		100 * objects.low / n, 100 * objects.high / n);
	if (table != NULL)
		fprintf(table,
			"| %s | %u | %+.1f | %.1f | %.2f | %.2f / %.2f | %.2f | %.2f / %.2f | "
			"%.2f / %.2f | %.2f / %.2f |\n",
			scene->plan.name, result->runs, 100 * (result->estimate / n - 1),
			100 * result->width / n, 100 * result->chosen_high / n,
			100 * result->total.low / n, 100 * result->total.high / n,
			100 * result->gate / n, 100 * result->moment.low / n,
			100 * result->moment.high / n, 100 * rows.low / n, 100 * rows.high / n,
			100 * objects.low / n, 100 * objects.high / n);
}

static void intervals_of_the_peak_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(scenes); i++) {
		const struct scene *scene = &scenes[i];
		const unsigned runs = is_long ? 20000 : scene->short_runs;
		const struct result result = run_scene(scene, runs, 500 + i);
		const double most = binomial_limit(runs, tail, false_alarm);
		const struct sides rows = worst_of(result.rows, MIXED_ROWS);
		const struct sides objects = worst_of(result.objects, MIXED_ROWS + 1);
		write_scene(scene, &result);
		assert_int_equal(result.contradictions, 0);
		assert_true(result.total.low <= most && result.total.high <= most);
		assert_true(result.moment.low <= most && result.moment.high <= most);
		assert_true(rows.low <= most && rows.high <= most);
		assert_true(objects.low <= most && objects.high <= most);
		assert_true(result.gate <= binomial_limit(runs, gate_error, false_alarm));
		assert_true(!scene->bites || result.chosen_high > most);
	}
}

/* ---- differences ---- */

#define PAIRS_SHORT 300
static const double rate = .05; /* of false discoveries */

/* Does the difference of two runs have a verdict? `grew`: that row0 grew. */
static bool has_verdict(const struct mixed_plan *base, const struct mixed_plan *new,
	struct stream *stream, bool *ret_grew)
{
	const struct mixed_plan *plans[BP_SIDES] = { base, new };
	const struct bp_query query = {
		.metric = BP_METRIC_PEAK, .all_cells = true, .estimator = BP_ESTIMATOR_HT
	};
	const struct bp_diff_query asked = { .rate = rate };
	struct mixed_heap heaps[BP_SIDES];
	struct bp_aggregation aggregations[BP_SIDES];
	struct bp_run runs[BP_SIDES];
	struct bp_diff difference;
	struct bp_error error;
	for (int side = 0; side < BP_SIDES; side++) {
		mixed_make(&heaps[side], plans[side], stream);
		aggregations[side] = small_aggregate(&heaps[side].profile, &query);
		runs[side] = (struct bp_run){ &aggregations[side], &aggregations[side], 1, "run" };
	}
	assert_true(bp_diff_make(&asked, &runs[BP_BASE], 1, &runs[BP_NEW], 1, &difference, &error));
	*ret_grew = false;
	for (uint32_t i = 0; i < difference.verdict_count; i++) {
		struct bp_diff_row row;
		bp_diff_row(&difference, i, &row);
		*ret_grew = *ret_grew ||
			    (strcmp(row.name, "row0") == 0 && row.verdict == BP_VERDICT_GREW);
	}
	const bool some = difference.verdict_count > 0;
	bp_diff_finish(&difference);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_aggregation_finish(&aggregations[side]);
		mixed_finish(&heaps[side]);
	}
	return some;
}

/* A program compared with itself: where every row is the same, a discovery rate of .05 means that
 * one comparison in twenty has a verdict at most, and a thousandth more for each side's true
 * moment. */
static void a_program_does_not_differ_from_itself(void **state)
{
	const unsigned pairs = is_long ? 5000 : PAIRS_SHORT;
	(void)state;
	for (size_t i = 0; i < BP_COUNT(scenes); i++) {
		struct stream stream = { 900 + i };
		unsigned verdicts = 0;
		bool grew;
		for (unsigned pair = 0; pair < pairs; pair++)
			verdicts += has_verdict(&scenes[i].plan, &scenes[i].plan, &stream, &grew);
		print_message("# %s, %u pairs: %u have a verdict\n", scenes[i].plan.name, pairs,
			verdicts);
		assert_true(verdicts <= binomial_limit(pairs, rate + .002, false_alarm));
	}
}

/* What did change is found, in a phase that the other one does not reach. */
static void a_peak_that_grew_is_found(void **state)
{
	static const struct mixed_plan before = { "before", 2, { SMALL(100), BLOCK(40) } };
	static const struct mixed_plan after = { "after", 2, { SMALL(250), BLOCK(40) } };
	struct stream stream = { 77 };
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		bool grew;
		assert_true(has_verdict(&before, &after, &stream, &grew));
		assert_true(grew);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(intervals_of_the_peak_hold),
		cmocka_unit_test(a_program_does_not_differ_from_itself),
		cmocka_unit_test(a_peak_that_grew_is_found) };
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		table = fopen(argv[2], "w");
	if (table != NULL)
		fprintf(table,
			"| heap | runs | estimate, %% | width, %% | limit of the chosen moment "
			"misses above | the peak misses below / above | a limit of 1 %% | "
			"the named moment | rows, worst | objects, worst |\n"
			"|-|-|-|-|-|-|-|-|-|-|\n");
	const int failed = cmocka_run_group_tests_name("peak of mixed heaps", tests, NULL, NULL);
	if (table != NULL)
		fclose(table);
	return failed;
}
