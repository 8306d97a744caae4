/* SPDX-License-Identifier: MIT */
/*
 * Coverage of what is lost to rounding, and of its share, through everything that `report
 * --rounding` uses.
 *
 * The scenes are functions that hold objects of known requested and usable sizes, as glibc and
 * jemalloc give them; among them many small objects that are seldom sampled or not at all and lose
 * most of what they are given, which is what an upper limit must not forget. Each object is sampled
 * with its inclusion probability. Counted at 50, 95 and 99 %: how often the intervals of bytes lost
 * and of their share miss, on each side, of the worst function with a sample, of the worst size with
 * one, and of all; for what is allocated and what is live. Of a size it is counted only where one was
 * sampled, so that repetitions without one count as held.
 *
 * Of R repetitions no more may miss on a side than a method that errs in 1.1 times the stated error
 * exceeds with probability 1e-10, by the binomial distribution; with about 200 assertions the
 * false-alarm rate of a run is below 2e-8. Seeds are recorded; the first choice was kept.
 *
 * Through the same machine goes an upper limit that knows of nothing but what was sampled: the
 * unseen unit of a trial that loses what the sampled ones lose at most. It must fail where the
 * scene says so.
 *
 * BYTEPOLL_LONG_TESTS=1 takes 2000 repetitions (four minutes of CPU).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "aggregation/views/rounding.h"
#include "base/attributes.h"
#include "chance.h"
#include "estimate/estimate.h"
#include "small_profile.h"

#define INTERVAL UINT64_C(4096)
#define ROWS 5
#define GROUPS_MAX 8
#define LEVELS 3
#define FIGURES 2 /* bytes, share */

static const double false_alarm = 1e-10;
static const double confidences[LEVELS] = { .5, .95, .99 };
static const enum bp_metric metrics[] = { BP_METRIC_ALLOCATED, BP_METRIC_LIVE };
static const char *const row_names[ROWS] = { "row0", "row1", "row2", "row3", "row4" };
static bool is_long;
static unsigned failures;

/* Equal objects of one function; how many stay, and how many are freed. */
struct group {
	uint64_t size, usable, live, freed;
	unsigned row;
};

struct scene {
	const char *name;
	struct group groups[GROUPS_MAX]; /* up to the first without an object */
	bool bites; /* a limit from what was sampled alone must be seen to fail at 95 % */
};

static const struct scene scenes[] = {
	{ "glibc: 25 B, 24 B and 1032 B",
		{ { 25, 40, 1000, 500, 0 }, { 24, 24, 1000, 500, 0 }, { 1032, 1032, 100, 30, 1 } },
		false },
	{ "glibc: 3 x 4000 B, and 300 of no bytes, which get 24",
		{ { 4000, 4008, 3, 0, 0 }, { 0, 24, 300, 0, 0 } }, true },
	{ "glibc: 50 x 2000 B in four, 1000 of no bytes in one",
		{ { 2000, 2008, 50, 10, 0 }, { 2000, 2008, 50, 10, 1 }, { 2000, 2008, 50, 10, 2 },
			{ 3000, 3000, 10, 0, 3 }, { 0, 24, 1000, 0, 3 } },
		false },
	{ "glibc: 3000 x 10 B which get 24, 300 of no bytes beside",
		{ { 10, 24, 3000, 0, 0 }, { 0, 24, 300, 300, 0 } }, false },
	{ "jemalloc: 1032 B, 1024 B, 3000 B and 16 B",
		{ { 1032, 1280, 100, 100, 0 }, { 1024, 1024, 100, 50, 0 }, { 3000, 3072, 30, 0, 1 },
			{ 16, 16, 2000, 1000, 2 }, { 17, 32, 2000, 0, 2 } },
		false },
	{ "jemalloc: blocks of 70,000 B beside 100 of 4000 B and 500 x 1",
		{ { 70000, 81920, 5, 5, 0 }, { 4000, 4096, 60, 40, 0 }, { 1, 8, 500, 0, 0 } },
		false },
	{ "three of 3585 B which get 4096, beside 3000 x 8 that fit",
		{ { 3585, 4096, 3, 0, 0 }, { 8, 8, 3000, 0, 0 } }, false },
	{ "few: 4 x 500 B which get 512, 20 x 100 which get 112",
		{ { 500, 512, 4, 0, 0 }, { 100, 112, 20, 0, 1 } }, false },
};

struct sides {
	unsigned low, high;
};

struct result {
	unsigned runs;
	struct sides rows[BP_COUNT(metrics)][LEVELS][FIGURES][ROWS];
	struct sides sizes[BP_COUNT(metrics)][LEVELS][FIGURES][GROUPS_MAX];
	struct sides all[BP_COUNT(metrics)][LEVELS][FIGURES];
	unsigned sampled_alone;	       /* of all that was allocated, above, at 95 % */
	double width, estimate, truth; /* of all that was allocated at 95 %, added up */
};

struct amount {
	double lost, given;
};

struct truth {
	struct amount rows[BP_COUNT(metrics)][ROWS], sizes[BP_COUNT(metrics)][GROUPS_MAX],
		all[BP_COUNT(metrics)];
};

/* Samples of `count` equal objects, by the gaps between those that are sampled. */
static void draw(struct bp_profile *profile, struct bp_process_id process,
	const struct group *group, uint64_t count, bool freed, struct stream *stream)
{
	const struct bp_stack_id stack = small_stack(profile, row_names[group->row]);
	const uint64_t trials = group->size + 1;
	const double chance = trials >= INTERVAL ? 1 : bp_inclusion_probability(trials, INTERVAL);
	for (double i = 0;; i++) {
		if (chance < 1)
			i += floor(log(stream_uniform(stream)) / log1p(-chance));
		if (i >= (double)count)
			return;
		struct bp_sample *made =
			small_sample(profile, process, stack, group->size, 1, freed ? 2 : -1);
		made->usable = group->usable;
		made->exact = trials >= INTERVAL;
	}
}

static void add_truth(struct amount *amount, const struct group *group, uint64_t count)
{
	amount->lost += (double)((group->usable - group->size) * count);
	amount->given += (double)(group->usable * count);
}

/* The number of the first group of the same size: a row by size holds all of them. */
static unsigned first_of_size(const struct scene *scene, unsigned group)
{
	unsigned first = 0;
	while (scene->groups[first].size != scene->groups[group].size)
		first++;
	return first;
}

static struct truth make(
	const struct scene *scene, struct bp_profile *profile, struct stream *stream)
{
	struct truth truth = { 0 };
	uint64_t bytes = 0, objects = 0;
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, INTERVAL);
	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		const struct group *group = &scene->groups[i];
		const uint64_t counts[] = { group->live + group->freed, group->live };
		if (counts[0] == 0)
			break;
		draw(profile, process, group, group->live, false, stream);
		draw(profile, process, group, group->freed, true, stream);
		for (size_t metric = 0; metric < BP_COUNT(metrics); metric++) {
			add_truth(&truth.rows[metric][group->row], group, counts[metric]);
			add_truth(&truth.sizes[metric][first_of_size(scene, i)], group,
				counts[metric]);
			add_truth(&truth.all[metric], group, counts[metric]);
		}
		bytes += group->size * counts[0];
		objects += counts[0];
	}
	small_totals(profile, process, bytes, bytes, objects, objects);
	return truth;
}

static void count(
	struct sides *sides, const struct amount *truth, const struct bp_rounding_figures *figures)
{
	const double values[FIGURES] = { truth->lost,
		truth->given > 0 ? truth->lost / truth->given : 0 };
	const struct bp_interval *intervals[FIGURES] = { &figures->lost.interval,
		&figures->share.interval };
	for (unsigned figure = 0; figure < FIGURES; figure++) {
		if (figure == 1 && !(truth->given > 0))
			continue;
		sides[figure].low += values[figure] < intervals[figure]->low * (1 - 1e-9) - 1e-12;
		sides[figure].high += values[figure] > intervals[figure]->high * (1 + 1e-9) + 1e-12;
	}
}

/* An array of the figures of one thing, for count(). */
#define COUNT(array, index, truth, figures)            \
	do {                                           \
		struct sides both[FIGURES];            \
		for (unsigned f = 0; f < FIGURES; f++) \
			both[f] = (array)[f] index;    \
		count(both, truth, figures);           \
		for (unsigned f = 0; f < FIGURES; f++) \
			(array)[f] index = both[f];    \
	} while (0)

/* The upper limit of all that was allocated if what was sampled were all there can be. */
static double sampled_alone(const struct bp_profile *profile)
{
	struct bp_sums sums = { 0 };
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample sample = bp_profile_sample(profile, i);
		bp_sums_add(&sums, (double)(sample.usable - sample.size), sample.size, 1, INTERVAL,
			sample.exact);
	}
	return bp_estimate_values(&sums, INTERVAL, 0, .05).high;
}

static void look(const struct scene *scene, struct bp_profile *profile, const struct truth *truth,
	unsigned metric, unsigned level, struct result *result)
{
	const struct bp_query query = { .metric = metrics[metric],
		.confidence = confidences[level] };
	struct bp_aggregation aggregation = small_aggregate(profile, &query);
	struct bp_rounding rounding;
	struct bp_error error;
	assert_true(bp_rounding_make(&aggregation, UINT32_MAX, &rounding, &error));
	COUNT(result->all[metric][level], , &truth->all[metric], &rounding.all);
	for (uint32_t i = 0; i < rounding.row_count; i++) {
		struct bp_row row;
		bp_aggregation_row(&aggregation, rounding.rows[i].row, &row);
		for (unsigned name = 0; name < ROWS; name++)
			if (strcmp(row.name, row_names[name]) == 0)
				COUNT(result->rows[metric][level], [name],
					&truth -> rows[metric][name], &rounding.rows[i].figures);
	}
	for (uint32_t i = 0; i < rounding.size_count; i++)
		for (unsigned group = 0; group < GROUPS_MAX; group++)
			if (scene->groups[group].size == rounding.sizes[i].size &&
				scene->groups[group].live + scene->groups[group].freed > 0 &&
				first_of_size(scene, group) == group)
				COUNT(result->sizes[metric][level], [group],
					&truth -> sizes[metric][group], &rounding.sizes[i].figures);
	if (metric == 0 && level == 1) {
		const struct bp_interval *lost = &rounding.all.lost.interval;
		result->width += lost->high - lost->low;
		result->estimate += lost->estimate;
		result->truth += truth->all[0].lost;
		result->sampled_alone += truth->all[0].lost > sampled_alone(profile);
	}
	bp_rounding_finish(&rounding);
	bp_aggregation_finish(&aggregation);
}

static void take_worse(struct sides *worst, const struct sides *sides)
{
	worst->low = sides->low > worst->low ? sides->low : worst->low;
	worst->high = sides->high > worst->high ? sides->high : worst->high;
}

static struct sides worst_of(const struct result *result, unsigned level, unsigned figure)
{
	struct sides worst = { 0, 0 };
	for (size_t metric = 0; metric < BP_COUNT(metrics); metric++) {
		for (unsigned row = 0; row < ROWS; row++)
			take_worse(&worst, &result->rows[metric][level][figure][row]);
		for (unsigned group = 0; group < GROUPS_MAX; group++)
			take_worse(&worst, &result->sizes[metric][level][figure][group]);
		take_worse(&worst, &result->all[metric][level][figure]);
	}
	return worst;
}

static void judge(const struct scene *scene, const struct result *result)
{
	const double n = result->runs;
	print_message("# %s, %u runs: mean %.3f of the truth, width %.2f of it; misses in %%",
		scene->name, result->runs, result->estimate / result->truth,
		result->width / result->truth);
	bool good = true;
	for (unsigned level = 0; level < LEVELS; level++) {
		const double most = binomial_limit(
			result->runs, 1.1 * (1 - confidences[level]) / 2, false_alarm);
		print_message(" %g:", confidences[level]);
		for (unsigned figure = 0; figure < FIGURES; figure++) {
			const struct sides worst = worst_of(result, level, figure);
			print_message(" %.2f %.2f%s", 100 * worst.low / n, 100 * worst.high / n,
				figure == 0 ? " /" : "");
			good = good && worst.low <= most && worst.high <= most;
		}
		if (level == 1)
			good = good && (!scene->bites || result->sampled_alone > most);
	}
	print_message(" (sampled alone %.2f)\n", 100 * result->sampled_alone / n);
	if (!good)
		failures++;
}

static void intervals_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(scenes); i++) {
		struct result result = { .runs = is_long ? 2000 : 100 };
		struct stream stream = { 2600 + i };
		for (unsigned run = 0; run < result.runs; run++) {
			struct bp_profile profile;
			const struct truth truth = make(&scenes[i], &profile, &stream);
			for (unsigned metric = 0; metric < BP_COUNT(metrics); metric++)
				for (unsigned level = 0; level < LEVELS; level++)
					look(&scenes[i], &profile, &truth, metric, level, &result);
			bp_profile_finish(&profile);
		}
		judge(&scenes[i], &result);
	}
	assert_int_equal(failures, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(intervals_hold) };
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	return cmocka_run_group_tests_name("rounding", tests, NULL, NULL);
}
