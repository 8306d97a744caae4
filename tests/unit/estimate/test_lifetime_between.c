/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes whose ages lie between two limits, against all ages that may be: the least and the
 * greatest share over all of them are found by trying each, and so is the median's. Where the limits
 * of the ages are equal, the figures are those of lifetime.h.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "estimate/lifetime_between.h"

#define ALPHA .05
#define COUNT_MAX 6
#define AGES 9 /* 0 to 8 */

struct set {
	struct bp_lifetime_between given[COUNT_MAX], by_low[COUNT_MAX], by_high[COUNT_MAX];
	struct bp_lifetime buffer[COUNT_MAX];
	struct bp_lifetimes_between objects;
	double unseen;
};

/* splitmix64, as everywhere in the tests. */
static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + .5) * 0x1p-53;
}

/* What is given, in both orders. */
static void take(struct set *set, size_t count)
{
	memcpy(set->by_low, set->given, sizeof set->given);
	memcpy(set->by_high, set->given, sizeof set->given);
	set->objects =
		(struct bp_lifetimes_between){ set->by_low, set->by_high, set->buffer, count, 0 };
	bp_lifetimes_between_sort(&set->objects);
}

/* Objects of ages from 0 to 8, which are known to `width` or less; all taken with certainty, or
 * sampled. */
static void draw(struct set *set, uint64_t *seed, unsigned width, bool certain)
{
	const size_t count = 1 + (size_t)(uniform(seed) * (COUNT_MAX - 1));
	for (size_t i = 0; i < count; i++) {
		const uint64_t low = (uint64_t)(uniform(seed) * (AGES - width));
		const uint64_t high = low + (uint64_t)(uniform(seed) * (width + 1));
		set->given[i] = (struct bp_lifetime_between){
			.lifetime = { .age = low + (high - low) / 2,
				.value = 1 + floor(uniform(seed) * 9),
				.whole = certain ? 1 : 1 / (.05 + .9 * uniform(seed)),
				.count = 1 + (uint32_t)(uniform(seed) * 2),
				.ended = uniform(seed) < .6 },
			.low = low,
			.high = high,
		};
	}
	set->unseen = certain ? 0 : 10 * uniform(seed);
	take(set, count);
}

struct extremes {
	double low[AGES], high[AGES]; /* of the limits of the share within an age */
	double median_low, median_high;
};

/* One choice of the ages; the next one, if there is one. */
static bool next_ages(const struct set *set, uint64_t *ages)
{
	for (size_t i = 0; i < set->objects.count; i++) {
		if (ages[i]++ < set->given[i].high)
			return true;
		ages[i] = set->given[i].low;
	}
	return false;
}

static void look_at(const struct set *set, const uint64_t *chosen, struct extremes *extremes)
{
	static const uint64_t ages[AGES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct bp_lifetime lifetimes[COUNT_MAX];
	struct bp_interval shares[AGES];
	const size_t count = set->objects.count;
	for (size_t i = 0; i < count; i++) {
		lifetimes[i] = set->given[i].lifetime;
		lifetimes[i].age = chosen[i];
	}
	qsort(lifetimes, count, sizeof *lifetimes, bp_lifetime_compare);
	bp_lifetime_shares(lifetimes, count, set->unseen, ALPHA, ages, AGES, shares);
	for (unsigned i = 0; i < AGES; i++) {
		extremes->low[i] = fmin(extremes->low[i], shares[i].low);
		extremes->high[i] = fmax(extremes->high[i], shares[i].high);
	}
	const struct bp_interval median = bp_lifetime_median(lifetimes, count, set->unseen, ALPHA);
	extremes->median_low = fmin(extremes->median_low, median.low);
	extremes->median_high = fmax(extremes->median_high, median.high);
}

static struct extremes try_all(const struct set *set)
{
	struct extremes extremes = { .median_low = INFINITY };
	uint64_t chosen[COUNT_MAX];
	for (unsigned i = 0; i < AGES; i++)
		extremes.low[i] = 1;
	for (size_t i = 0; i < set->objects.count; i++)
		chosen[i] = set->given[i].low;
	do
		look_at(set, chosen, &extremes);
	while (next_ages(set, chosen));
	return extremes;
}

static void expect_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-12))
		fail_msg("%.17g, not %.17g", value, wanted);
}

static void shares_of(struct set *set, struct bp_interval *ret_shares)
{
	static const uint64_t ages[AGES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	bp_lifetime_shares_between(&set->objects, set->unseen, ALPHA, ages, AGES, ret_shares);
}

/* Where all objects were taken, the limits are the extremes of the share, and of the median. */
static void limits_are_the_extremes(void **state)
{
	uint64_t seed = 1;
	(void)state;
	for (unsigned run = 0; run < 2000; run++) {
		struct set set;
		struct bp_interval shares[AGES];
		draw(&set, &seed, 3, true);
		const struct extremes extremes = try_all(&set);
		shares_of(&set, shares);
		for (unsigned i = 0; i < AGES; i++) {
			expect_near(shares[i].low, extremes.low[i]);
			expect_near(shares[i].high, extremes.high[i]);
			assert_true(
				shares[i].unknown || (shares[i].low <= shares[i].estimate &&
							     shares[i].estimate <= shares[i].high));
			assert_true(!shares[i].exact || shares[i].low == shares[i].high);
		}
		const struct bp_interval median =
			bp_lifetime_median_between(&set.objects, set.unseen, ALPHA);
		assert_true(median.low <= extremes.median_low);
		assert_true(median.high >= extremes.median_high);
	}
}

/* Of samples the limits are those at the extremes of the share. How certain a share is depends on the
 * ages in another way than the share itself, so that with few objects the limits of other ages may be
 * a little beyond (by .037 at most in these sets of five or less). */
static void limits_are_near_those_of_all_ages(void **state)
{
	uint64_t seed = 2;
	(void)state;
	for (unsigned run = 0; run < 500; run++) {
		struct set set;
		struct bp_interval shares[AGES];
		draw(&set, &seed, 3, false);
		const struct extremes extremes = try_all(&set);
		shares_of(&set, shares);
		for (unsigned i = 0; i < AGES; i++) {
			assert_true(shares[i].low <= extremes.low[i] + .037);
			assert_true(shares[i].high >= extremes.high[i] - .037);
		}
	}
}

/* Ages that are known give the figures of lifetime.h. */
static void equal_limits_are_ages(void **state)
{
	uint64_t seed = 3;
	(void)state;
	for (unsigned run = 0; run < 2000; run++) {
		struct set set;
		struct bp_interval shares[AGES];
		draw(&set, &seed, 0, run % 2 == 0);
		const struct extremes extremes = try_all(&set);
		shares_of(&set, shares);
		for (unsigned i = 0; i < AGES; i++) {
			expect_near(shares[i].low, extremes.low[i]);
			expect_near(shares[i].high, extremes.high[i]);
		}
		const struct bp_interval median =
			bp_lifetime_median_between(&set.objects, set.unseen, ALPHA);
		assert_true(median.low == extremes.median_low);
		assert_true(median.high == extremes.median_high);
	}
}

/* The three objects of docs/statistics.md: a longer life of the first makes more of them end. */
static void a_longer_life_may_end_more(void **state)
{
	(void)state;
	struct set set = { .given = {
				   { { 2, 1, 1, 1, true }, 1, 3 },
				   { { 2, 1, 1, 1, false }, 2, 2 },
				   { { 5, 1, 1, 1, false }, 5, 5 },
			   } };
	struct bp_interval shares[AGES];
	take(&set, 3);
	shares_of(&set, shares);
	expect_near(shares[4].low, 1. / 3);
	expect_near(shares[4].high, 1. / 2);
	expect_near(shares[0].high, 0);
	expect_near(shares[2].low, 0);
}

/* Without an upper limit an age is as great as it may be. */
static void no_upper_limit(void **state)
{
	(void)state;
	struct set set = { .given = { { { 2, 1, 1, 1, true }, 2, UINT64_MAX },
				   { { 3, 1, 1, 1, false }, 3, UINT64_MAX } } };
	struct bp_interval shares[AGES];
	take(&set, 2);
	shares_of(&set, shares);
	expect_near(shares[1].high, 0);
	expect_near(shares[2].low, 0);
	expect_near(shares[2].high, 1. / 2);
	const struct bp_interval median = bp_lifetime_median_between(&set.objects, 0, ALPHA);
	assert_true(median.low == 2 && isinf(median.high) && !median.exact);
}

static void nothing_at_all(void **state)
{
	(void)state;
	struct set set = { .objects = { 0 } };
	struct bp_interval shares[AGES];
	bp_lifetimes_between_sort(&set.objects);
	shares_of(&set, shares);
	assert_true(shares[0].unknown && shares[0].low == 0 && shares[0].high == 1);
	assert_true(bp_lifetime_median_between(&set.objects, 0, ALPHA).unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_the_extremes),
		cmocka_unit_test(limits_are_near_those_of_all_ages),
		cmocka_unit_test(equal_limits_are_ages),
		cmocka_unit_test(a_longer_life_may_end_more),
		cmocka_unit_test(no_upper_limit),
		cmocka_unit_test(nothing_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
