/* SPDX-License-Identifier: MIT */
/*
 * What is live and what was temporary as parts of what was allocated, which is counted: through
 * everything that a report uses, on heaps of which some objects stay and the others are freed.
 *
 * Counted: how often the intervals of the live bytes, of the temporary bytes and of the worst of
 * four functions' live bytes miss on each side; how wide they are beside those that do not look at
 * the counted total, but for a cut at it (the truth of such a cut is in the samples alone); and how
 * far the mean estimates of bytes and objects are from the truth, with the cut and without.
 *
 * Of R repetitions no more may miss on a side than a method that errs in exactly 2.75 % exceeds
 * with probability 1e-10, by the binomial distribution. A mean estimate may be off by six of its
 * standard errors and .2 % of the truth (the share of the error that a part takes is itself
 * estimated). With about 100 assertions the false-alarm rate of a run is below 2e-8. Seeds are
 * recorded.
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

#include "aggregation/row_sums.h"
#include "base/attributes.h"
#include "chance.h"
#include "estimate/estimate.h"
#include "small_profile.h"

#define INTERVAL UINT64_C(4096)
#define ROWS 4
#define GROUPS_MAX 4

static const double false_alarm = 1e-10, tail = .0275;
static const char *const row_names[ROWS] = { "row0", "row1", "row2", "row3" };
static FILE *table;
static bool is_long;

/* Equal objects of one function: `trials` of each, of all that stay and of all that are freed, in
 * T. */
struct group {
	double trials, live, freed;
	unsigned row;
};

struct scene {
	const char *name;
	struct group groups[GROUPS_MAX];
	/* most is live: the interval must be less than half as wide as without the total */
	bool narrows;
};

static const struct scene scenes[] = {
	{ "small, 37 T, nothing is freed", { { 1 / 32., 37, 0, 0 } }, true },
	{ "small, 300 T in four functions, nothing is freed",
		{ { 1 / 32., 150, 0, 0 }, { 1 / 8., 100, 0, 1 }, { 1 / 32., 40, 0, 2 },
			{ 1 / 4., 10, 0, 3 } },
		true },
	{ "small, 95 of 100 T are live", { { 1 / 32., 95, 5, 0 } }, true },
	{ "small, 50 of 100 T are live", { { 1 / 32., 50, 50, 0 } }, false },
	{ "small, 2 of 100 T are live", { { 1 / 32., 2, 98, 0 } }, false },
	{ "three objects of .344 T are live, small are freed",
		{ { .344, 3 * .344, 0, 0 }, { 1 / 32., 0, 30, 1 } }, false },
	{ "seven objects of .99 T are freed, small are live",
		{ { .99, 0, 7 * .99, 0 }, { 1 / 32., 30, 0, 1 } }, false },
	{ "objects of .5 T, 8 live and 4 freed, beside small",
		{ { .5, 4, 2, 0 }, { 1 / 32., 3, 20, 1 }, { 1 / 1024., 5, 5, 2 } }, false },
	{ "blocks of 10 T, 3 live and 3 freed, beside small",
		{ { 10, 30, 30, 0 }, { 1 / 32., 20, 10, 1 }, { 1 / 4., 5, 0, 2 } }, false },
};

struct sides {
	unsigned low, high;
};

struct mean {
	double sum, squares; /* of estimates over the truth, less 1 */
};

struct result {
	unsigned runs;
	struct sides live, temporary, rows[ROWS];
	struct mean bytes, objects, cut_bytes;
	double width, width_cut; /* over the truth, summed */
};

struct truth {
	double live, freed, live_objects, rows[ROWS];
};

static uint64_t size_of(const struct group *group)
{
	const uint64_t trials = (uint64_t)llround(group->trials * (double)INTERVAL);
	return trials > 1 ? trials - 1 : 1;
}

static uint64_t objects_of(const struct group *group, double all)
{
	return (uint64_t)llround(all * (double)INTERVAL / (double)(size_of(group) + 1));
}

/* Samples of `count` equal objects, by the gaps between those that are sampled. */
static void draw(struct bp_profile *profile, struct bp_process_id process, struct bp_stack_id stack,
	uint64_t size, uint64_t count, bool freed, struct stream *stream)
{
	const double chance =
		size + 1 >= INTERVAL ? 1 : bp_inclusion_probability(size + 1, INTERVAL);
	for (double i = 0;; i++) {
		if (chance < 1)
			i += floor(log(stream_uniform(stream)) / log1p(-chance));
		if (i >= (double)count)
			return;
		struct bp_sample *made =
			small_sample(profile, process, stack, size, 1, freed ? 2 : -1);
		made->temporary = freed;
	}
}

static struct truth make(
	const struct scene *scene, struct bp_profile *profile, struct stream *stream)
{
	struct truth truth = { 0 };
	uint64_t bytes = 0, objects = 0;
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, INTERVAL);
	for (unsigned i = 0; i < GROUPS_MAX && scene->groups[i].trials > 0; i++) {
		const struct group *group = &scene->groups[i];
		const uint64_t size = size_of(group);
		const uint64_t live = objects_of(group, group->live);
		const uint64_t freed = objects_of(group, group->freed);
		const struct bp_stack_id stack = small_stack(profile, row_names[group->row]);
		draw(profile, process, stack, size, live, false, stream);
		draw(profile, process, stack, size, freed, true, stream);
		truth.live += (double)(size * live);
		truth.freed += (double)(size * freed);
		truth.live_objects += (double)live;
		truth.rows[group->row] += (double)(size * live);
		bytes += size * (live + freed);
		objects += live + freed;
	}
	small_totals(profile, process, bytes, bytes, objects, objects);
	return truth;
}

static void count(struct sides *sides, double truth, const struct bp_interval *interval)
{
	sides->low += truth < interval->low * (1 - 1e-12);
	sides->high += truth > interval->high * (1 + 1e-12);
}

static void add(struct mean *mean, double estimate, double truth)
{
	const double error = estimate / truth - 1;
	mean->sum += error;
	mean->squares += error * error;
}

static void run_once(const struct scene *scene, struct stream *stream, struct result *result)
{
	const struct bp_query query = { .metric = BP_METRIC_LIVE };
	struct bp_profile profile;
	const struct truth truth = make(scene, &profile, stream);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	const struct bp_interval *live = &aggregation.totals[BP_METRIC_LIVE].bytes.interval;
	const double total = truth.live + truth.freed;
	struct bp_interval cut =
		bp_estimate_bytes(bp_aggregation_total_parts(&aggregation).sums, INTERVAL, .05);
	cut.high = fmin(cut.high, total);
	count(&result->live, truth.live, live);
	count(&result->temporary, truth.freed,
		&aggregation.totals[BP_METRIC_TEMPORARY].bytes.interval);
	for (unsigned row = 0; row < ROWS; row++)
		if (small_has_row(&aggregation, row_names[row])) {
			const struct bp_row found = small_row(&aggregation, row_names[row]);
			count(&result->rows[row], truth.rows[row], &found.bytes.interval);
		}
	add(&result->bytes, live->estimate, truth.live);
	add(&result->objects, aggregation.totals[BP_METRIC_LIVE].objects.interval.estimate,
		truth.live_objects);
	add(&result->cut_bytes, fmin(cut.estimate, total), truth.live);
	result->width += (live->high - live->low) / truth.live;
	result->width_cut += (cut.high - cut.low) / truth.live;
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static struct sides worst_row(const struct result *result)
{
	struct sides worst = { 0, 0 };
	for (unsigned row = 0; row < ROWS; row++) {
		const struct sides *sides = &result->rows[row];
		worst.low = sides->low > worst.low ? sides->low : worst.low;
		worst.high = sides->high > worst.high ? sides->high : worst.high;
	}
	return worst;
}

static void write_scene(const struct scene *scene, const struct result *result)
{
	const double n = result->runs;
	const struct sides rows = worst_row(result);
	print_message(
		"# %s, %u runs: live misses %.2f %.2f %%, temporary %.2f %.2f, rows %.2f %.2f; "
		"width %.1f %%, %.1f with a cut; estimate of bytes %+.2f %%, %+.2f with a cut, "
		"objects %+.2f\n",
		scene->name, result->runs, 100 * result->live.low / n, 100 * result->live.high / n,
		100 * result->temporary.low / n, 100 * result->temporary.high / n,
		100 * rows.low / n, 100 * rows.high / n, 100 * result->width / n,
		100 * result->width_cut / n, 100 * result->bytes.sum / n,
		100 * result->cut_bytes.sum / n, 100 * result->objects.sum / n);
	if (table != NULL)
		fprintf(table,
			"| %s | %.2f / %.2f | %.2f / %.2f | %.2f / %.2f | %.1f | %.1f | %+.2f | %+.2f | %+.2f |\n",
			scene->name, 100 * result->live.low / n, 100 * result->live.high / n,
			100 * result->temporary.low / n, 100 * result->temporary.high / n,
			100 * rows.low / n, 100 * rows.high / n, 100 * result->width / n,
			100 * result->width_cut / n, 100 * result->bytes.sum / n,
			100 * result->cut_bytes.sum / n, 100 * result->objects.sum / n);
}

static bool is_unbiased(const struct mean *mean, double runs)
{
	const double average = mean->sum / runs;
	const double variance = mean->squares / runs - average * average;
	return fabs(average) <= 6 * sqrt(fmax(0, variance) / runs) + .002;
}

static void parts_of_the_total_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(scenes); i++) {
		struct result result = { .runs = is_long ? 20000 : 1000 };
		struct stream stream = { 700 + i };
		for (unsigned run = 0; run < result.runs; run++)
			run_once(&scenes[i], &stream, &result);
		const double most = binomial_limit(result.runs, tail, false_alarm);
		const struct sides rows = worst_row(&result);
		write_scene(&scenes[i], &result);
		assert_true(result.live.low <= most && result.live.high <= most);
		assert_true(result.temporary.low <= most && result.temporary.high <= most);
		assert_true(rows.low <= most && rows.high <= most);
		assert_true(is_unbiased(&result.bytes, result.runs));
		assert_true(result.width < result.width_cut * (scenes[i].narrows ? .5 : 1.02));
	}
}

/* Usable bytes of three objects just below T and of 3000 of one byte each, which are seldom sampled
 * and have 24 usable bytes: an upper limit that assumes no smaller objects than those that were
 * sampled misses. */
static void usable_bytes_of_small_objects_hold(void **state)
{
	const unsigned runs = is_long ? 20000 : 2000;
	const struct bp_query query = { .metric = BP_METRIC_LIVE, .usable = true };
	const double truth = 3 * 4104 + 3000 * 24;
	struct stream stream = { 800 };
	struct sides sides = { 0, 0 };
	unsigned assumed = 0;
	(void)state;
	for (unsigned run = 0; run < runs; run++) {
		struct bp_profile profile;
		small_init(&profile);
		const struct bp_process_id process =
			small_process(&profile, 1, 1, 0, 0, 10, INTERVAL);
		const struct bp_stack_id stack = small_stack(&profile, "row0");
		draw(&profile, process, stack, 4094, 3, false, &stream);
		draw(&profile, process, stack, 1, 3000, false, &stream);
		for (uint32_t i = 1; i < profile.added.count; i++)
			profile.added.data[i].usable = profile.added.data[i].size == 1 ? 24 : 4104;
		small_totals(&profile, process, 3 * 4094 + 3000, 3 * 4094 + 3000, 3003, 3003);
		struct bp_aggregation aggregation = small_aggregate(&profile, &query);
		const struct bp_interval *live = &aggregation.totals[BP_METRIC_LIVE].bytes.interval;
		const struct bp_sums *sums = bp_aggregation_total_parts(&aggregation).sums;
		count(&sides, truth, live);
		/* As if all objects were like those that were sampled. */
		assumed += truth > bp_estimate_values(sums, INTERVAL, sums->ratio_max, .05).high;
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	}
	const double most = binomial_limit(runs, tail, false_alarm);
	print_message(
		"# usable bytes, %u runs: misses %.2f %.2f %%, with the sampled sizes assumed %.2f\n",
		runs, 100. * sides.low / runs, 100. * sides.high / runs, 100. * assumed / runs);
	assert_true(sides.low <= most && sides.high <= most);
	assert_true(assumed > most);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(parts_of_the_total_hold),
		cmocka_unit_test(usable_bytes_of_small_objects_hold) };
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		table = fopen(argv[2], "w");
	if (table != NULL)
		fprintf(table,
			"| heap | live misses below / above, %% | temporary | rows, worst | "
			"width, %% | width with a cut | estimate of bytes, %% | with a cut | of objects |\n"
			"|-|-|-|-|-|-|-|-|-|\n");
	const int failed = cmocka_run_group_tests_name("parts of the total", tests, NULL, NULL);
	if (table != NULL)
		fclose(table);
	return failed;
}
