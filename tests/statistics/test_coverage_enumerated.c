/* SPDX-License-Identifier: MIT */
/*
 * Coverage of the N3 interval without chance: every outcome is enumerated with its probability, so
 * a failure here is a wrong interval and never bad luck.
 *
 * One size. The limits rise with the number of samples s, so for n objects the lower limit misses
 * exactly when s is at least some cutoff. As n grows up to the lower limit of that cutoff, the
 * probability of reaching it grows: the worst n is the last one below the limit. Likewise the worst
 * n for the upper limit of s is the first one above it. Two binomial tails per s so give the worst
 * case over ALL n with at most 300 samples.
 *
 * Two sizes. The intervals of all pairs of counts are tabulated once, and the probability of a miss
 * is summed for a grid of populations, dense where the lower limit is hardest: a few objects of .1
 * to 1 T beside small ones of which less than one sample is expected. There a limit rounded up to
 * whole objects, right for one size, misses 3.2 %; the test holds that against it.
 *
 * Nominal is alpha / 2 on each side. For one size the limits are exact but for the gamma's fit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "test_coverage.h"

#define INTERVAL UINT64_C(100000)
#define SAMPLES_MAX 300

struct size_case {
	uint64_t size;
	uint32_t charge;
	double alpha;
	bool objects;	  /* estimate objects, with the size as size_min, instead of bytes */
	bool single_size; /* known to the method: whole objects */
};

static struct bp_interval interval_of(const struct bp_sums *sums, const struct size_case *c)
{
	if (c->objects)
		return bp_estimate_objects(sums, INTERVAL, c->alpha, c->size, c->charge);
	return bp_estimate_bytes(sums, INTERVAL, c->alpha);
}

/* The worst misses of one size over all numbers of objects. */
static struct misses worst_of_size(const struct size_case *c)
{
	struct misses worst = { 0, 0 };
	struct bp_sums sums = { .interval_max = INTERVAL, .single_size = c->single_size };
	double p = inclusion(c->size + c->charge, INTERVAL, false);
	double unit = c->objects ? 1 : (double)c->size, low_before = -1, high_before = -1;
	for (unsigned s = 0; s <= SAMPLES_MAX; s++) {
		struct bp_interval interval = interval_of(&sums, c);
		/* The monotony that the two cutoffs rest on. */
		assert_true(interval.low > low_before && interval.high > high_before);
		low_before = interval.low;
		high_before = interval.high;
		/* 1e-6: a limit that is a whole number of objects, but for rounding. */
		double n_low = ceil(interval.low / unit - 1e-6) - 1;
		double n_high = floor(interval.high / unit + 1e-6) + 1;
		double low = s > 0 && n_low >= s ? 1 - binomial_at_most(n_low, p, s - 1) : 0;
		keep_worst(&worst, low, binomial_at_most(n_high, p, s));
		add_samples(&sums, 1, c->size, c->charge, INTERVAL, false);
	}
	return worst;
}

static const uint64_t sizes[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 30000, 50000,
	71500, 80000, 90000, 95000, 99000, 99999, 100000 };

static void check_sizes(uint32_t charge, double alpha, bool objects, bool single_size)
{
	struct misses worst = { 0, 0 };
	for (size_t i = 0; i < BP_COUNT(sizes); i++) {
		struct size_case c = { sizes[i] - charge, charge, alpha, objects, single_size };
		struct misses misses = worst_of_size(&c);
		keep_worst(&worst, misses.low, misses.high);
	}
	print_message("# alpha %g, charge %u, %s%s: worst misses %.4f %.4f of alpha / 2\n", alpha,
		charge, objects ? "objects" : "bytes", single_size ? ", one size known" : "",
		worst.low / (alpha / 2), worst.high / (alpha / 2));
	assert_true(worst.low <= 1.02 * alpha / 2 && worst.high <= 1.02 * alpha / 2);
	/* A method that never misses would be far too wide. */
	assert_true(worst.low > 0.9 * alpha / 2 && worst.high > 0.9 * alpha / 2);
}

static void test_one_size_bytes(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		check_sizes(0, 0.05, false, known);
		check_sizes(1, 0.05, false, known);
		check_sizes(0, 0.02, false, known);
		check_sizes(0, 0.002, false, known);
	}
}

static void test_one_size_objects(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		check_sizes(1, 0.05, true, known);
		check_sizes(0, 0.02, true, known);
	}
}

/* Two sizes: counts up to PAIR_MAX - 1 each. */
#define PAIR_MAX 44
static struct bp_interval pair_intervals[PAIR_MAX][PAIR_MAX];

struct population {
	double count[2];
	uint64_t size[2];
};

static void tabulate_pairs(const uint64_t size[2], double alpha, bool single_size)
{
	for (unsigned i = 0; i < PAIR_MAX; i++)
		for (unsigned j = 0; j < PAIR_MAX; j++) {
			struct bp_sums sums = { .interval_max = INTERVAL,
				.single_size = single_size };
			add_samples(&sums, i, size[0], 1, INTERVAL, true);
			add_samples(&sums, j, size[1], 1, INTERVAL, true);
			pair_intervals[i][j] = bp_estimate_bytes(&sums, INTERVAL, alpha);
		}
}

static struct misses misses_of(const struct population *population)
{
	double table[2][PAIR_MAX], truth = 0;
	struct misses misses = { 0, 0 };
	for (int k = 0; k < 2; k++) {
		binomial_table(population->count[k],
			inclusion(population->size[k] + 1, INTERVAL, true), table[k], PAIR_MAX);
		truth += population->count[k] * (double)population->size[k];
	}
	for (unsigned i = 0; i < PAIR_MAX; i++)
		for (unsigned j = 0; j < PAIR_MAX; j++) {
			double probability = table[0][i] * table[1][j];
			if (truth < pair_intervals[i][j].low * (1 - 1e-12))
				misses.low += probability;
			if (truth > pair_intervals[i][j].high)
				misses.high += probability;
		}
	return misses;
}

/* The worst misses over `small` objects with 0.03 to 14 samples expected and 1 to 24 large ones. */
static struct misses worst_of_pair(uint64_t small, uint64_t large)
{
	struct misses worst = { 0, 0 };
	double p_small = inclusion(small + 1, INTERVAL, true);
	double p_large = inclusion(large + 1, INTERVAL, true);
	for (double expected = 0.03; expected < 14; expected *= 1.2)
		for (unsigned n = 1; n <= 24 && n * p_large < 22; n++) {
			struct population population = { { ceil(expected / p_small), n },
				{ small, large } };
			struct misses misses = misses_of(&population);
			keep_worst(&worst, misses.low, misses.high);
		}
	return worst;
}

/* Objects of T and more are certain: they add to the truth and to both limits alike. */
static void check_two_sizes(double alpha)
{
	static const uint64_t small[] = { 16, 1000, 8000 };
	struct misses worst = { 0, 0 };
	for (size_t i = 0; i < BP_COUNT(small); i++)
		for (uint64_t large = 10000; large < 100000; large += 6100) {
			tabulate_pairs((uint64_t[]){ small[i], large }, alpha, false);
			struct misses misses = worst_of_pair(small[i], large);
			keep_worst(&worst, misses.low, misses.high);
		}
	print_message("# alpha %g, two sizes: worst misses %.4f %.4f of alpha / 2\n", alpha,
		worst.low / (alpha / 2), worst.high / (alpha / 2));
	assert_true(worst.low <= 1.02 * alpha / 2 && worst.high <= 1.02 * alpha / 2);
	assert_true(worst.low > 0.9 * alpha / 2 && worst.high > 0.9 * alpha / 2);
}

static void test_two_sizes(void **state)
{
	(void)state;
	check_two_sizes(0.05);
	check_two_sizes(0.02);
}

/* The reason for bp_sums.single_size: told falsely that there is one size only, N3 must fail here.
 */
static void test_false_knowledge_fails(void **state)
{
	(void)state;
	tabulate_pairs((uint64_t[]){ 120, 34400 }, 0.05, true);
	double count = ceil(0.32 / inclusion(121, INTERVAL, true));
	struct misses told = misses_of(&(struct population){ { count, 3 }, { 120, 34400 } });
	assert_true(told.low > 0.031 && told.low < 0.034);
	tabulate_pairs((uint64_t[]){ 120, 34400 }, 0.05, false);
	struct misses untold = misses_of(&(struct population){ { count, 3 }, { 120, 34400 } });
	assert_true(untold.low < 0.025);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_size_bytes),
		cmocka_unit_test(test_one_size_objects),
		cmocka_unit_test(test_two_sizes),
		cmocka_unit_test(test_false_knowledge_fails),
	};
	return cmocka_run_group_tests_name("coverage, enumerated", tests, NULL, NULL);
}
