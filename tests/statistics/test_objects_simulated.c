/* SPDX-License-Identifier: MIT */
/*
 * Intervals of objects that assume no smallest size, through everything that a report uses, on
 * heaps in which small objects are rare among the samples: they are many, and are seldom sampled or
 * not at all.
 *
 * Counted at 50, 95 and 99 %: how often the intervals of allocated, live and temporary objects miss
 * on each side, of the worst function and of all; of a function without a sample the interval is
 * that of no sample beside all others. And how often an upper limit would miss that assumes that no
 * object is smaller than those that were sampled, which the test must be able to see fail; and how
 * wide the interval is beside the one that is told the smallest size.
 *
 * Of R repetitions no more may miss on a side than a method that errs in 1.1 times the stated error
 * exceeds with probability 1e-10, by the binomial distribution; with about 300 assertions the
 * false-alarm rate of a run is below 3e-8. Seeds are recorded.
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

#include "aggregation/aggregation_state.h"
#include "base/attributes.h"
#include "chance.h"
#include "estimate/estimate.h"
#include "small_profile.h"

#define INTERVAL UINT64_C(4096)
#define ROWS 9
#define GROUPS_MAX 16
#define METRICS 3
#define LEVELS 3

static const double false_alarm = 1e-10;
static const double confidences[LEVELS] = { .5, .95, .99 };
static const enum bp_metric metrics[METRICS] = { BP_METRIC_ALLOCATED, BP_METRIC_LIVE,
	BP_METRIC_TEMPORARY };
static const char *const row_names[ROWS] = { "row0", "row1", "row2", "row3", "row4", "row5", "row6",
	"row7", "row8" };
static FILE *table;
static bool is_long;

/* Equal objects of one function, bytes; how many stay, and how many are freed at once. */
struct group {
	uint64_t size, live, freed;
	unsigned row;
};

struct scene {
	const char *name;
	struct group groups[GROUPS_MAX]; /* up to the first without an object */
	bool bites; /* assuming the sampled sizes must be seen to fail at 95 % */
};

#define EIGHT                                                                           \
	{ 2000, 50, 0, 0 }, { 2000, 50, 0, 1 }, { 2000, 50, 0, 2 }, { 2000, 50, 0, 3 }, \
		{ 2000, 50, 0, 4 }, { 2000, 50, 0, 5 }, { 2000, 50, 0, 6 },             \
	{                                                                               \
		2000, 50, 0, 7                                                          \
	}

static const struct scene scenes[] = {
	{ "eight of 50 x 2000 B, one of 3 x 3000 and 60 x 16",
		{ EIGHT, { 3000, 3, 0, 8 }, { 16, 60, 0, 8 } }, true },
	{ "eight of 50 x 2000 B, one of 3 x 3000 and 3000 x 1",
		{ EIGHT, { 3000, 3, 0, 8 }, { 1, 3000, 0, 8 } }, true },
	{ "3 x 4094 B and 300 x 1, alone", { { 4094, 3, 0, 0 }, { 1, 300, 0, 0 } }, false },
	{ "eight of 50 x 2000 B, one of 100 x 0", { EIGHT, { 0, 100, 0, 8 } }, false },
	{ "eight of 50 x 2000 B, one of 4000 x 0", { EIGHT, { 0, 4000, 0, 8 } }, false },
	{ "the same, half of each freed",
		{ { 2000, 25, 25, 0 }, { 2000, 25, 25, 1 }, { 2000, 50, 50, 2 }, { 3000, 3, 3, 8 },
			{ 16, 300, 300, 8 } },
		false },
	{ "blocks of 5000 B, 20 live, beside 200 x 16 of the same, freed",
		{ { 5000, 20, 5, 0 }, { 16, 0, 200, 0 }, { 500, 100, 100, 1 } }, false },
	{ "20,000 x 32 B in four, 100 x 3000 in one",
		{ { 32, 4000, 1000, 0 }, { 32, 2000, 2000, 1 }, { 32, 900, 5000, 2 },
			{ 32, 100, 5000, 3 }, { 3000, 50, 50, 4 } },
		false },
	{ "one size in three functions of 10, 100 and 1000 objects",
		{ { 100, 10, 0, 0 }, { 100, 100, 0, 1 }, { 100, 1000, 0, 2 } }, false },
	{ "sizes 1 to 2187 in one function, 600 in another",
		{ { 1, 500, 500, 0 }, { 3, 300, 300, 0 }, { 9, 200, 200, 0 }, { 27, 100, 200, 0 },
			{ 81, 50, 100, 0 }, { 243, 40, 80, 0 }, { 729, 20, 40, 0 },
			{ 2187, 10, 20, 0 }, { 600, 300, 0, 1 } },
		false },
};

struct sides {
	unsigned low, high;
};

struct result {
	unsigned runs;
	struct sides rows[METRICS][LEVELS][ROWS], all[METRICS][LEVELS];
	unsigned assumed[LEVELS][ROWS]; /* allocated, above, with the smallest sampled size */
	double width, width_told; /* of all rows' allocated objects at 95 %, over their number */
};

struct truth {
	double rows[METRICS][ROWS], all[METRICS];
	uint64_t smallest;
};

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
	struct truth truth = { .smallest = UINT64_MAX };
	uint64_t bytes = 0, objects = 0;
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, INTERVAL);
	for (unsigned i = 0; i < GROUPS_MAX; i++) {
		const struct group *group = &scene->groups[i];
		if (group->live + group->freed == 0)
			break;
		const struct bp_stack_id stack = small_stack(profile, row_names[group->row]);
		const double numbers[METRICS] = { (double)(group->live + group->freed),
			(double)group->live, (double)group->freed };
		draw(profile, process, stack, group->size, group->live, false, stream);
		draw(profile, process, stack, group->size, group->freed, true, stream);
		for (unsigned metric = 0; metric < METRICS; metric++) {
			truth.rows[metric][group->row] += numbers[metric];
			truth.all[metric] += numbers[metric];
		}
		truth.smallest = group->size < truth.smallest ? group->size : truth.smallest;
		bytes += group->size * (group->live + group->freed);
		objects += group->live + group->freed;
	}
	small_totals(profile, process, bytes, bytes, objects, objects);
	return truth;
}

static void count(struct sides *sides, double truth, const struct bp_interval *interval)
{
	sides->low += truth < interval->low * (1 - 1e-12);
	sides->high += truth > interval->high * (1 + 1e-12);
}

/* The interval of each function; without a sample it is that of nothing beside all that was
 * sampled. */
static void rows_of(const struct bp_aggregation *aggregation, struct bp_interval ret_rows[ROWS])
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_tally nothing = { 0 };
	struct bp_sums others = state->rest[aggregation->query.metric];
	struct bp_row row;
	bp_sums_merge(&others, &state->before[state->row_count]);
	bp_figures_of_tally(aggregation, &nothing, &others, &row);
	for (unsigned i = 0; i < ROWS; i++)
		ret_rows[i] = row.objects.interval;
	for (uint32_t i = 0; i < aggregation->row_count; i++) {
		bp_aggregation_row(aggregation, i, &row);
		for (unsigned name = 0; name < ROWS; name++)
			if (strcmp(row.name, row_names[name]) == 0)
				ret_rows[name] = row.objects.interval;
	}
}

static uint64_t smallest_sampled(const struct bp_profile *profile)
{
	uint64_t smallest = UINT64_MAX;
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample sample = bp_profile_sample(profile, i);
		smallest = sample.size < smallest ? sample.size : smallest;
	}
	return smallest;
}

/* Allocated objects once more, a smallest size being stated. */
static void look_again(struct bp_profile *profile, uint64_t size_min, unsigned level,
	struct bp_interval ret_rows[ROWS])
{
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
		.confidence = confidences[level],
		.has_size_min = true,
		.size_min = size_min };
	struct bp_aggregation aggregation = small_aggregate(profile, &query);
	rows_of(&aggregation, ret_rows);
	bp_aggregation_finish(&aggregation);
}

static void look(struct bp_profile *profile, const struct truth *truth, unsigned metric,
	unsigned level, struct result *result)
{
	const struct bp_query query = { .metric = metrics[metric],
		.confidence = confidences[level] };
	struct bp_interval rows[ROWS], assumed[ROWS], told[ROWS];
	struct bp_aggregation aggregation = small_aggregate(profile, &query);
	count(&result->all[metric][level], truth->all[metric],
		&aggregation.totals[metrics[metric]].objects.interval);
	rows_of(&aggregation, rows);
	bp_aggregation_finish(&aggregation);
	if (metric == 0)
		look_again(profile, smallest_sampled(profile), level, assumed);
	if (metric == 0 && level == 1)
		look_again(profile, truth->smallest, level, told);
	for (unsigned row = 0; row < ROWS; row++) {
		if (truth->rows[0][row] == 0)
			continue;
		count(&result->rows[metric][level][row], truth->rows[metric][row], &rows[row]);
		if (metric == 0)
			result->assumed[level][row] += truth->rows[0][row] > assumed[row].high;
		if (metric == 0 && level == 1) {
			result->width += (rows[row].high - rows[row].low) / truth->all[0];
			result->width_told += (told[row].high - told[row].low) / truth->all[0];
		}
	}
}

static struct sides worst_of(const struct result *result, unsigned level)
{
	struct sides worst = { 0, 0 };
	for (unsigned metric = 0; metric < METRICS; metric++)
		for (unsigned row = 0; row <= ROWS; row++) {
			const struct sides *sides = row < ROWS ? &result->rows[metric][level][row]
							       : &result->all[metric][level];
			worst.low = sides->low > worst.low ? sides->low : worst.low;
			worst.high = sides->high > worst.high ? sides->high : worst.high;
		}
	return worst;
}

static unsigned worst_assumed(const struct result *result, unsigned level)
{
	unsigned worst = 0;
	for (unsigned row = 0; row < ROWS; row++)
		worst = result->assumed[level][row] > worst ? result->assumed[level][row] : worst;
	return worst;
}

static void write_scene(const struct scene *scene, const struct result *result)
{
	const double n = result->runs;
	print_message("# %s, %u runs: misses", scene->name, result->runs);
	if (table != NULL)
		fprintf(table, "| %s |", scene->name);
	for (unsigned level = 0; level < LEVELS; level++) {
		const struct sides worst = worst_of(result, level);
		const double assumed = 100 * worst_assumed(result, level) / n;
		print_message(" %g: %.2f %.2f (assumed %.2f)%s", confidences[level],
			100 * worst.low / n, 100 * worst.high / n, assumed,
			level + 1 < LEVELS ? ";" : "");
		if (table != NULL)
			fprintf(table, " %.2f / %.2f | %.2f |", 100 * worst.low / n,
				100 * worst.high / n, assumed);
	}
	print_message(
		"; width %.2f of that of the told size\n", result->width / result->width_told);
	if (table != NULL)
		fprintf(table, " %.2f |\n", result->width / result->width_told);
}

static void intervals_of_objects_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(scenes); i++) {
		struct result result = { .runs = is_long ? 20000 : 200 };
		struct stream stream = { 1100 + i };
		for (unsigned run = 0; run < result.runs; run++) {
			struct bp_profile profile;
			const struct truth truth = make(&scenes[i], &profile, &stream);
			for (unsigned metric = 0; metric < METRICS; metric++)
				for (unsigned level = 0; level < LEVELS; level++)
					look(&profile, &truth, metric, level, &result);
			bp_profile_finish(&profile);
		}
		write_scene(&scenes[i], &result);
		for (unsigned level = 0; level < LEVELS; level++) {
			const double tail = 1.1 * (1 - confidences[level]) / 2;
			const double most = binomial_limit(result.runs, tail, false_alarm);
			const struct sides worst = worst_of(&result, level);
			assert_true(worst.low <= most && worst.high <= most);
			assert_true(!scenes[i].bites || level != 1 ||
				    worst_assumed(&result, level) > most);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(intervals_of_objects_hold) };
	const char *setting = getenv("BYTEPOLL_LONG_TESTS");
	is_long = setting != NULL && *setting != '\0' && strcmp(setting, "0") != 0;
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		table = fopen(argv[2], "w");
	if (table != NULL)
		fprintf(table,
			"| heap | 50 %%: misses below / above, %% | above, sampled sizes assumed | "
			"95 %% | assumed | 99 %% | assumed | width |\n|-|-|-|-|-|-|-|-|\n");
	const int failed = cmocka_run_group_tests_name("objects", tests, NULL, NULL);
	if (table != NULL)
		fclose(table);
	return failed;
}
