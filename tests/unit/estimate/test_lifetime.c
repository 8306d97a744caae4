/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes: cases by hand, the limits of Clopper and Pearson where they must come out, and
 * everything else against a computation by brute force: the estimate by its definition, its
 * variance from numerical derivatives by every weight.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/lifetime.h"
#include "estimate/numeric/special.h"

#define ALPHA .05

static void expect_near(double value, double wanted, double error)
{
	if (!(fabs(value - wanted) <= error))
		fail_msg("%.17g, not %.17g", value, wanted);
}

static struct bp_lifetime one(uint64_t age_ns, bool ended, double value, double whole)
{
	return (struct bp_lifetime){
		.age = age_ns, .value = value, .whole = whole, .count = 1, .ended = ended
	};
}

static struct bp_interval share_within(
	const struct bp_lifetime *lifetimes, size_t count, double unseen, uint64_t age_ns)
{
	struct bp_interval share;
	bp_lifetime_shares(lifetimes, count, unseen, ALPHA, &age_ns, 1, &share);
	return share;
}

/* Four objects, of which the second and the fourth are censored: 1 - 3/4, then 1 - 3/4 * 1/2. */
static void by_hand(void **state)
{
	(void)state;
	const struct bp_lifetime objects[] = { one(1, true, 1, 1), one(2, false, 1, 1),
		one(3, true, 1, 1), one(4, false, 1, 1) };
	static const struct {
		uint64_t age_ns;
		double share;
	} wanted[] = { { 0, 0 }, { 1, .25 }, { 2, .25 }, { 3, .625 }, { 4, .625 } };
	for (size_t i = 0; i < BP_COUNT(wanted); i++) {
		const struct bp_interval share = share_within(objects, 4, 0, wanted[i].age_ns);
		assert_true(share.exact && !share.unknown);
		assert_true(share.low == share.estimate && share.high == share.estimate);
		expect_near(share.estimate, wanted[i].share, 1e-15);
	}
	const struct bp_interval beyond = share_within(objects, 4, 0, 5);
	assert_true(beyond.unknown && isnan(beyond.estimate) && !beyond.exact);
	assert_true(beyond.low == .625 && beyond.high == 1);
	const struct bp_interval median = bp_lifetime_median(objects, 4, 0, ALPHA);
	assert_true(median.exact && median.estimate == 3 && median.low == 3 && median.high == 3);
}

/* What is censored at an age is still at risk there. */
static void ties(void **state)
{
	(void)state;
	const struct bp_lifetime objects[] = { one(5, false, 1, 1), one(5, true, 2, 1),
		one(5, true, 1, 1), one(9, true, 4, 1) };
	expect_near(share_within(objects, 4, 0, 5).estimate, 3.0 / 8, 1e-15);
	/* All that is left ends: the share is 1 to the last digit, however far one asks. */
	assert_true(share_within(objects, 4, 0, 9).estimate == 1);
	assert_true(share_within(objects, 4, 0, 1000).estimate == 1 &&
		    !share_within(objects, 4, 0, 1000).unknown);
}

static void nothing_at_all(void **state)
{
	(void)state;
	const struct bp_interval share = share_within(NULL, 0, 100, 5);
	assert_true(share.unknown && share.low == 0 && share.high == 1 && isnan(share.estimate));
	const struct bp_interval median = bp_lifetime_median(NULL, 0, 100, ALPHA);
	assert_true(median.unknown && median.low == 0 && isinf(median.high));
	assert_true(bp_lifetime_ended(NULL, 0, 100, ALPHA).unknown);
}

/* Without censoring the estimate is the weighted empirical distribution. */
static void is_empirical_without_censoring(void **state)
{
	struct bp_lifetime objects[50];
	double all = 0, ended = 0;
	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		objects[i] = one(i / 3, true, 1 + i % 7, 1 + (double)(i % 5));
		all += objects[i].value * objects[i].whole;
	}
	for (unsigned i = 0; i < 50; i++) {
		ended += objects[i].value * objects[i].whole;
		if (i + 1 < 50 && objects[i + 1].age == objects[i].age)
			continue;
		expect_near(
			share_within(objects, 50, 10, objects[i].age).estimate, ended / all, 1e-14);
	}
}

/* Equal objects that are rarely sampled, none of them censored. */
static void is_clopper_and_pearsons_for_equal_objects(void **state)
{
	const double whole = 1e9;
	(void)state;
	for (unsigned count = 1; count <= 40; count += 3)
		for (unsigned ended = 0; ended <= count; ended++) {
			struct bp_lifetime objects[40];
			for (unsigned i = 0; i < count; i++)
				objects[i] = one(i < ended ? 1 + i % 2 : 10, true, 16, whole);
			qsort(objects, count, sizeof *objects, bp_lifetime_compare);
			const struct bp_interval share =
				share_within(objects, count, 16 * whole, 5);
			const double low = ended == 0 ? 0
						      : bp_beta_regularized_inverse(ALPHA / 2,
								ended, count - ended + 1);
			const double high = ended == count
						    ? 1
						    : 1 - bp_beta_regularized_inverse(ALPHA / 2,
								  count - ended, ended + 1);
			expect_near(share.low, low, 1e-6);
			expect_near(share.high, high, 1e-6);
			for (unsigned i = 0; i < count; i++)
				objects[i].ended = objects[i].age < 5;
			const struct bp_interval part =
				bp_lifetime_ended(objects, count, 16 * whole, ALPHA);
			expect_near(part.low, low, 1e-6);
			expect_near(part.high, high, 1e-6);
			expect_near(part.estimate, (double)ended / count, 1e-15);
		}
}

/* The share that has ended by its definition, with a unit beside: weights[count] is the unit's,
 * which ends at the age or lives on. */
static double brute_share(const struct bp_lifetime *objects, const double *weights, size_t count,
	uint64_t age_ns, bool unit_ends)
{
	double survival = 1;
	for (uint64_t age = 0; age <= age_ns; age++) {
		double at_risk = weights[count], ended = 0;
		for (size_t i = 0; i < count; i++) {
			at_risk += objects[i].age >= age ? weights[i] : 0;
			ended += objects[i].age == age && objects[i].ended ? weights[i] : 0;
		}
		if (ended > 0)
			survival *= 1 - ended / at_risk;
	}
	if (unit_ends) {
		double at_risk = weights[count];
		for (size_t i = 0; i < count; i++)
			at_risk += objects[i].age > age_ns ? weights[i] : 0;
		survival *= 1 - weights[count] / at_risk;
	}
	return 1 - survival;
}

#define BRUTE_MAX 40

static struct bp_interval brute_limits(
	const struct bp_lifetime *objects, size_t count, double unseen, uint64_t age_ns)
{
	double weights[BRUTE_MAX + 1], variance[2] = { 0 }, mean[2];
	for (size_t i = 0; i < count; i++)
		weights[i] = objects[i].value * objects[i].whole;
	weights[count] = unseen;
	for (int ends = 0; ends < 2; ends++) {
		mean[ends] = brute_share(objects, weights, count, age_ns, ends);
		for (size_t i = 0; i <= count; i++) {
			const double kept = weights[i], step = 1e-4 * kept;
			weights[i] = kept + step;
			const double more = brute_share(objects, weights, count, age_ns, ends);
			weights[i] = kept - step;
			const double less = brute_share(objects, weights, count, age_ns, ends);
			weights[i] = kept;
			const double slope = (more - less) / (2 * step);
			const double of_one = i == count ? unseen * unseen
							 : objects[i].value * objects[i].value *
								   objects[i].whole *
								   (objects[i].whole - 1);
			variance[ends] += slope * slope * of_one;
		}
	}
	struct bp_interval limits = { .low = 0, .high = 1 };
	const double low_size = mean[0] * (1 - mean[0]) / variance[0];
	const double high_size = mean[1] * (1 - mean[1]) / variance[1];
	if (mean[0] > 0)
		limits.low = bp_beta_regularized_inverse(
			ALPHA / 2, mean[0] * low_size, (1 - mean[0]) * low_size);
	if (mean[1] < 1)
		limits.high = 1 - bp_beta_regularized_inverse(ALPHA / 2, (1 - mean[1]) * high_size,
					  mean[1] * high_size);
	return limits;
}

/* splitmix64, as everywhere in the tests. */
static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + .5) * 0x1p-53;
}

static size_t draw_objects(uint64_t *seed, struct bp_lifetime *objects)
{
	const size_t count = 1 + (size_t)(uniform(seed) * (BRUTE_MAX - 1));
	for (size_t i = 0; i < count; i++)
		objects[i] = one((uint64_t)(uniform(seed) * 12), uniform(seed) < .6,
			1 + floor(uniform(seed) * 900),
			uniform(seed) < .2 ? 1 : 1 / (.01 + .9 * uniform(seed)));
	qsort(objects, count, sizeof *objects, bp_lifetime_compare);
	return count;
}

static void limits_are_those_of_brute_force(void **state)
{
	struct bp_lifetime objects[BRUTE_MAX];
	uint64_t seed = 1;
	(void)state;
	for (unsigned run = 0; run < 300; run++) {
		const size_t count = draw_objects(&seed, objects);
		const double unseen = 200 + 2000 * uniform(&seed);
		for (uint64_t age_ns = 0; age_ns < 12; age_ns++) {
			const struct bp_interval share =
				share_within(objects, count, unseen, age_ns);
			const struct bp_interval wanted =
				brute_limits(objects, count, unseen, age_ns);
			if (share.unknown) {
				expect_near(share.low, wanted.low, 1e-5);
				continue;
			}
			assert_true(0 <= share.low && share.low <= share.estimate &&
				    share.estimate <= share.high && share.high <= 1);
			expect_near(share.low, fmin(wanted.low, share.estimate), 1e-5);
			expect_near(share.high, fmax(wanted.high, share.estimate), 1e-5);
		}
	}
}

/* The limits of a median are the first ages at which those of the share are 1/2 or more. */
static void median_follows_from_the_shares(void **state)
{
	struct bp_lifetime objects[BRUTE_MAX];
	uint64_t seed = 2;
	(void)state;
	for (unsigned run = 0; run < 300; run++) {
		const size_t count = draw_objects(&seed, objects);
		const double unseen = 200 + 2000 * uniform(&seed);
		const struct bp_interval median = bp_lifetime_median(objects, count, unseen, ALPHA);
		double low = INFINITY, estimate = INFINITY, high = INFINITY;
		for (uint64_t age_ns = 0; age_ns < 12; age_ns++) {
			const struct bp_interval share =
				share_within(objects, count, unseen, age_ns);
			low = fmin(low, share.high >= .5 ? (double)age_ns : INFINITY);
			estimate = fmin(estimate, share.estimate >= .5 ? (double)age_ns : INFINITY);
			high = fmin(high, share.low >= .5 ? (double)age_ns : INFINITY);
		}
		assert_true(
			median.low == low && median.estimate == estimate && median.high == high);
	}
}

/* Several alike in one entry are several entries. */
static void counts(void **state)
{
	struct bp_lifetime many[BRUTE_MAX],
		few[2] = { one(3, true, 100, 20), one(8, false, 100, 20) };
	(void)state;
	for (unsigned i = 0; i < 30; i++)
		many[i] = few[i >= 10];
	few[0].count = 10;
	few[1].count = 20;
	const struct bp_interval a = share_within(many, 30, 2000, 5),
				 b = share_within(few, 2, 2000, 5);
	expect_near(a.low, b.low, 1e-12);
	expect_near(a.high, b.high, 1e-12);
	expect_near(a.estimate, b.estimate, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(ties),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(is_empirical_without_censoring),
		cmocka_unit_test(is_clopper_and_pearsons_for_equal_objects),
		cmocka_unit_test(limits_are_those_of_brute_force),
		cmocka_unit_test(median_follows_from_the_shares),
		cmocka_unit_test(counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
