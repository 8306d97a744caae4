/* SPDX-License-Identifier: MIT */
/*
 * N3 by size classes: the reference values, the cases in which it must be N3 itself, single samples
 * of every class against limits that can be written down, merging in any order, and extremes.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/size_classes.h"

#define INTERVAL UINT64_C(102400)

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static void add_at(struct bp_size_classes *classes, unsigned count, double value, uint64_t size,
	uint64_t interval, bool exact)
{
	struct bp_sums sums = { 0 };
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(&sums, value, size, 0, interval, exact);
	bp_size_classes_add(classes, bp_size_class(size, interval, exact), &sums);
}

static void add(struct bp_size_classes *classes, unsigned count, uint64_t size)
{
	add_at(classes, count, (double)size, size, INTERVAL, false);
}

/* P(S <= s) of n objects, by summing. */
static double binomial_at_most(unsigned n, double pi, unsigned s)
{
	double sum = 0;
	for (unsigned i = 0; i <= s && i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(pi) +
			   (n - i) * log1p(-pi));
	return sum;
}

static struct bp_interval bytes_of(const struct bp_size_classes *classes, double alpha)
{
	return bp_estimate_values_by_classes(classes, INTERVAL, 1, alpha);
}

static struct bp_sums merged(const struct bp_size_classes *classes)
{
	struct bp_sums sums = classes->of[0];
	for (unsigned b = 1; b < BP_SIZE_CLASSES; b++)
		bp_sums_merge(&sums, &classes->of[b]);
	return sums;
}

static void expect_same(struct bp_interval a, struct bp_interval b)
{
	assert_true(a.low == b.low && a.estimate == b.estimate && a.high == b.high);
	assert_true(a.exact == b.exact && a.unknown == b.unknown);
}

static void test_class(void **state)
{
	(void)state;
	assert_int_equal(bp_size_class(1, INTERVAL, false), 0);
	assert_int_equal(bp_size_class(INTERVAL - 1, INTERVAL, false), 0);
	assert_int_equal(bp_size_class(INTERVAL, INTERVAL, false), 1);
	assert_int_equal(bp_size_class(INTERVAL, INTERVAL, true), 0);
	assert_int_equal(bp_size_class(8 * INTERVAL, INTERVAL, false), 8);
	assert_int_equal(bp_size_class(UINT64_MAX, INTERVAL, false), 16);
	assert_int_equal(bp_size_class(2, 2, false), 1);
	assert_int_equal(bp_size_class(1000, 1, false), 0);
	/* Class 0 is what is smaller than T, at every T. */
	for (uint64_t interval = 2; interval < UINT64_C(1) << 50; interval += interval / 3 + 1) {
		assert_int_equal(bp_size_class(interval - 1, interval, false), 0);
		assert_int_equal(bp_size_class(interval, interval, false), 1);
	}
}

/* Reference values, 1e-9. `single`: the small samples, all of one size, stand for a key of one. */
static void test_reference_values(void **state)
{
	(void)state;
	static const double alphas[] = { 0.05, 0.01, 0.002 };
	static const double wanted[3][3][2] = {
		{ { 81920000, 82769192.2452 }, { 81920000, 82943762.789 },
			{ 81920000, 83179603.4748 } },
		{ { 8110080, 8969783.37899 }, { 8079360, 9242810.48516 },
			{ 8079360, 9496291.10614 } },
		{ { 16527680.4356, 19918915.8553 }, { 16129901.5448, 20566955.0676 },
			{ 15819088.247, 21138252.6339 } },
	};
	struct bp_size_classes keys[3] = { 0 };
	for (int i = 0; i < 3; i++)
		keys[i].of[0].single_size = true;
	add(&keys[0], 100, 819200);
	add(&keys[1], 3, 30720);
	add(&keys[1], 1, 614400);
	add(&keys[1], 9, 819200);
	add(&keys[2], 40, 153600);
	add(&keys[2], 12, 307200);
	add(&keys[2], 6, 614400);
	add(&keys[2], 25, 1024);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			struct bp_interval interval = bytes_of(&keys[i], alphas[j]);
			expect_near("low", interval.low, wanted[i][j][0], 1e-11);
			expect_near("high", interval.high, wanted[i][j][1], 1e-11);
		}
	/* Samples of one size are no knowledge of the key: a smaller lower limit, nothing else. */
	keys[1].of[0].single_size = false;
	struct bp_interval unknown = bytes_of(&keys[1], 0.05);
	assert_true(unknown.low > 8079360 && unknown.low < 8110080 - 20000);
	expect_near("high", unknown.high, wanted[1][0][1], 1e-11);
	/* What plain N3 makes of the first two. */
	struct bp_sums first = merged(&keys[0]), second = merged(&keys[1]);
	expect_near("N3", bp_estimate_bytes(&first, INTERVAL, 0.05).high, 82578375.6302, 1e-11);
	expect_near("N3", bp_estimate_bytes(&second, INTERVAL, 0.05).low, 8112372.5184, 1e-11);
}

/* Classes of several sizes, whose atoms have a variance: values by a second program, written from
 * the same formulas in another language with its own special functions. */
static void test_values_of_mixed_classes(void **state)
{
	(void)state;
	static const struct {
		struct {
			unsigned count;
			uint64_t size;
		} samples[4];
		double alpha, low, high;
	} keys[] = {
		{ { { 30, 310000 }, { 20, 390000 }, { 5, 20000 }, { 2, 60000 } }, 0.05,
			17610123.6913, 19920617.2558 },
		{ { { 30, 310000 }, { 20, 390000 }, { 5, 20000 }, { 2, 60000 } }, 0.01,
			17428968.0549, 20409213.9224 },
		{ { { 1, 5000 }, { 1, 33000 }, { 6, 550000 }, { 5, 520000 } }, 0.05, 5938104.13912,
			6827609.87026 },
		{ { { 4, 20000 }, { 2, 33000 }, { 5, 530000 }, { 5, 550000 } }, 0.01, 5626988.97392,
			7240351.13145 },
	};
	for (size_t i = 0; i < BP_COUNT(keys); i++) {
		struct bp_size_classes classes = { 0 };
		for (size_t j = 0; j < 4; j++)
			add(&classes, keys[i].samples[j].count, keys[i].samples[j].size);
		struct bp_interval interval = bytes_of(&classes, keys[i].alpha);
		expect_near("low", interval.low, keys[i].low, 2e-11);
		expect_near("high", interval.high, keys[i].high, 2e-11);
	}
}

static void expect_plain(const struct bp_size_classes *classes, uint64_t interval)
{
	static const double alphas[] = { 0.5, 0.05, 0.002, 1e-9 };
	struct bp_sums sums = merged(classes);
	for (size_t i = 0; i < BP_COUNT(alphas); i++)
		for (double ratio = 1; ratio < 25; ratio += 23) {
			double alpha = alphas[i];
			expect_same(bp_estimate_values_by_classes(classes, interval, ratio, alpha),
				bp_estimate_values(&sums, interval, ratio, alpha));
			expect_same(bp_estimate_objects_by_classes(classes, interval, alpha, 16, 1),
				bp_estimate_objects(&sums, interval, alpha, 16, 1));
		}
}

/* No sample, small ones, exact ones, T = 1: N3 to the last digit. */
static void test_plain_without_large_samples(void **state)
{
	(void)state;
	struct bp_size_classes classes = { 0 }, all = { 0 };
	expect_plain(&classes, INTERVAL);
	expect_plain(&classes, 1);
	classes.of[0].interval_max = 4 * INTERVAL;
	expect_plain(&classes, INTERVAL);
	add(&classes, 5, 16);
	add(&classes, 7, INTERVAL - 1);
	expect_plain(&classes, INTERVAL);
	add_at(&classes, 3, 1e6, 1000000, INTERVAL, true);
	expect_plain(&classes, INTERVAL);
	add_at(&all, 3, 1e6, 1000000, 1, false);
	expect_plain(&all, 1);
	struct bp_interval everything = bp_estimate_values_by_classes(&all, 1, 1, 0.05);
	assert_true(everything.exact && everything.low == 3e6 && everything.high == 3e6);
	/* 13 objects missed of class 1 alone: none is counted. */
	struct bp_size_classes many = { 0 };
	add(&many, 40, INTERVAL + 1000);
	expect_plain(&many, INTERVAL);
	/* Objects so large that none can be missed add to both limits alike. */
	struct bp_size_classes certain = { 0 };
	add(&certain, 2, 800 * INTERVAL);
	expect_plain(&certain, INTERVAL);
}

/* One sample of `size` unseen units. Its twins are geometric, so that the tail of N3's rest by
 * classes can be written down: with w the chance to be missed and E exponential of mean 1,
 *     P(rest > h) = sum over j of (1 - w) w^j P(E > h - j size). */
static double tail_of_single(double size, double w, double h)
{
	double p = 1 - w, sum = 0;
	for (int j = 0; j < 400; j++, p *= w)
		sum += p * fmin(1, exp(j * size - h));
	return sum;
}

static void test_single_samples(void **state)
{
	(void)state;
	static const double alphas[] = { 0.2, 0.05, 0.002, 1e-6 };
	double unit = 1 / bp_lambda(INTERVAL);
	for (double x = 1.01; x < 25; x += 0.53)
		for (size_t i = 0; i < BP_COUNT(alphas); i++) {
			uint64_t size = (uint64_t)(x * unit);
			double units = (double)size / unit, w = exp(-units);
			struct bp_size_classes classes = { 0 };
			add(&classes, 1, size);
			struct bp_interval bytes = bytes_of(&classes, alphas[i]);
			assert_true(bytes.low == (double)size);
			/* 1e-5: atoms are cut off below 1e-8 of the error. */
			expect_near("tail of bytes",
				tail_of_single(units, w, bytes.high / unit - units), alphas[i] / 2,
				1e-5);
			/* Objects: the unseen unit is 1 / pi of the same size. */
			struct bp_interval objects = bp_estimate_objects_by_classes(
				&classes, INTERVAL, alphas[i], size, 0);
			assert_true(objects.low == 1);
			expect_near("tail of objects",
				tail_of_single(1 - w, w, (objects.high - 1) * (1 - w)),
				alphas[i] / 2, 1e-5);
		}
}

/* Large objects that were surely all seen do not change what is said of the small ones: the
 * mixture's small rest is that of rest.c, gamma or negative binomial, whole or not. */
static void test_small_rest_is_that_of_n3(void **state)
{
	(void)state;
	static const uint64_t sizes[][2] = { { 1, 1 }, { 16, 4000 }, { 90, 90 }, { 3000, 90000 },
		{ 60000, 60000 }, { 102000, 100 } };
	for (size_t i = 0; i < BP_COUNT(sizes); i++)
		for (unsigned count = 1; count < 600; count *= 3)
			for (int single = 0; single < 2; single++) {
				struct bp_size_classes small = { 0 }, both = { 0 };
				small.of[0].single_size = both.of[0].single_size = single;
				add(&small, count, sizes[i][0]);
				add(&small, count, sizes[i][1]);
				bp_size_classes_merge(&both, &small);
				add(&both, 1, 24 * INTERVAL);
				struct bp_interval a = bytes_of(&small, 0.05),
						   b = bytes_of(&both, 0.05);
				double large = 24.0 * (double)INTERVAL;
				/* P(one more such object) = 4e-11 remains. */
				if (sizes[i][0] != sizes[i][1] || !single)
					expect_near("low", b.low - large, a.low, 1e-6);
				expect_near("high", b.high - large, a.high, 1e-6);
			}
}

static const uint64_t sizes[] = { 0, 40, 70000, 102400, 160000, 250000, 333000, 520000, 700000,
	910000, 1300000, 1900000 };

static void test_merge(void **state)
{
	(void)state;
	struct bp_size_classes up = { 0 }, down = { 0 }, parts[2] = { 0 };
	for (size_t i = 0; i < BP_COUNT(sizes); i++) {
		add(&up, (unsigned)(1 + 3 * i), sizes[i] + 1);
		size_t j = BP_COUNT(sizes) - 1 - i;
		add(&down, (unsigned)(1 + 3 * j), sizes[j] + 1);
		add(&parts[i % 2], (unsigned)(1 + 3 * i), sizes[i] + 1);
	}
	bp_size_classes_merge(&parts[0], &parts[1]);
	struct bp_interval a = bytes_of(&up, 0.05), b = bytes_of(&down, 0.05);
	struct bp_interval c = bytes_of(&parts[0], 0.05);
	expect_near("low", b.low, a.low, 1e-12);
	expect_near("high", b.high, a.high, 1e-12);
	expect_near("low", c.low, a.low, 1e-12);
	expect_near("high", c.high, a.high, 1e-12);
	/* Nothing added changes nothing. */
	struct bp_size_classes none = { 0 };
	bp_size_classes_merge(&up, &none);
	expect_same(bytes_of(&up, 0.05), a);
}

/* Smaller error, wider interval; limits in order, finite, and never below what was seen. */
static void test_order_and_nesting(void **state)
{
	(void)state;
	static const double alphas[] = { 0.999, 0.5, 0.2, 0.05, 0.01, 1e-4, 1e-9, 1e-12 };
	for (unsigned mask = 1; mask < 1U << BP_COUNT(sizes); mask += 37) {
		struct bp_size_classes classes = { 0 };
		for (unsigned i = 0; i < BP_COUNT(sizes); i++)
			add(&classes, (mask >> i & 1) * (1 + mask % 5), sizes[i] + 1);
		double sampled = merged(&classes).bytes;
		struct bp_interval before = { 0 };
		for (size_t i = 0; i < BP_COUNT(alphas); i++) {
			struct bp_interval now = bytes_of(&classes, alphas[i]);
			assert_true(sampled <= now.low && now.low <= now.estimate);
			assert_true(now.estimate <= now.high && isfinite(now.high));
			if (i > 0)
				assert_true(now.low <= before.low * (1 + 1e-12) &&
					    now.high >= before.high * (1 - 1e-12));
			before = now;
		}
	}
}

/* Objects of one size: the lower limits agree; the upper one is never below Clopper and Pearson's,
 * for which n objects would give s samples or fewer with probability a. */
static void test_objects(void **state)
{
	(void)state;
	for (uint64_t size = INTERVAL; size < 12 * INTERVAL; size += 77777)
		for (unsigned s = 1; s < 400; s *= 7) {
			struct bp_size_classes key = { 0 };
			add(&key, s, size);
			struct bp_interval objects =
				bp_estimate_objects_by_classes(&key, INTERVAL, 0.05, size, 0);
			struct bp_interval bytes = bytes_of(&key, 0.05);
			expect_near(
				"estimate", objects.estimate * (double)size, bytes.estimate, 1e-12);
			expect_near("low", objects.low * (double)size, bytes.low, 1e-9);
			unsigned n = (unsigned)floor(objects.high * (1 + 1e-9)) + 1;
			double pi = bp_inclusion_probability(size, INTERVAL);
			assert_true(binomial_at_most(n, pi, s) <= 0.02501);
		}
	/* A small size may be there unseen: its 1 / pi dwarfs what is known of the large. */
	struct bp_size_classes classes = { 0 };
	add(&classes, 100, 819200);
	struct bp_interval wide = bp_estimate_objects_by_classes(&classes, INTERVAL, 0.05, 16, 1);
	double unit = 1 / bp_inclusion_probability(17, INTERVAL);
	assert_true(wide.low == 100);
	expect_near("unseen", wide.high - 100, -log(0.025) * unit, 1e-3);
}

/* Values twice the sizes: limits twice as large, if the ratio says so. */
static void test_values(void **state)
{
	(void)state;
	struct bp_size_classes once = { 0 }, twice = { 0 }, nothing = { 0 };
	for (size_t i = 1; i < BP_COUNT(sizes); i++) {
		add(&once, 3, sizes[i]);
		add_at(&twice, 3, 2.0 * (double)sizes[i], sizes[i], INTERVAL, false);
		add_at(&nothing, 3, 0, sizes[i], INTERVAL, false);
	}
	struct bp_interval a = bytes_of(&once, 0.05);
	struct bp_interval b = bp_estimate_values_by_classes(&twice, INTERVAL, 2, 0.05);
	expect_near("low", b.low, 2 * a.low, 1e-10);
	expect_near("high", b.high, 2 * a.high, 1e-10);
	/* The ratio seen is believed, even where the caller gave a smaller one. */
	expect_same(bp_estimate_values_by_classes(&twice, INTERVAL, 1, 0.05), b);
	assert_true(bp_estimate_values_by_classes(&twice, INTERVAL, 24, 0.05).high > b.high);
	/* Nothing resident: only the unseen unit is left. */
	struct bp_interval c = bytes_of(&nothing, 0.05);
	assert_true(c.low == 0 && c.estimate == 0);
	expect_near("unseen", c.high, -log(0.025) / bp_lambda(INTERVAL), 1e-6);
}

/* Every sample has the class of its own T; what is unseen has the largest. */
static void test_mixed_intervals(void **state)
{
	(void)state;
	struct bp_size_classes classes = { 0 };
	add_at(&classes, 4, 819200, 819200, INTERVAL, false);
	add_at(&classes, 3, 819200, 819200, 4 * INTERVAL, false);
	assert_int_equal(classes.of[8].samples, 4);
	assert_int_equal(classes.of[2].samples, 3);
	struct bp_interval interval = bytes_of(&classes, 0.05);
	expect_same(interval, bp_estimate_values_by_classes(&classes, 4 * INTERVAL, 1, 0.05));
	assert_true(interval.high - interval.low > 3.6 * 4 * (double)INTERVAL);
}

/* Sizes and counts far beyond any profile. */
static void test_extremes(void **state)
{
	(void)state;
	struct bp_size_classes huge = { 0 };
	add_at(&huge, 1, 1e15, UINT64_C(1000000000000000), 2, false);
	struct bp_interval interval = bp_estimate_values_by_classes(&huge, 2, 1, 0.05);
	assert_true(interval.low == 1e15 && interval.estimate == 1e15);
	assert_true(interval.high >= 1e15 && interval.high < 1e15 + 16);

	struct bp_size_classes many = { 0 };
	for (uint64_t size = 1; size < 40 * INTERVAL; size = size * 5 / 3 + 1)
		add(&many, 50000, size);
	struct bp_sums sums = merged(&many);
	assert_true(sums.samples > 1000000);
	interval = bytes_of(&many, 0.05);
	double spread = sqrt(sums.c2);
	expect_near("low", interval.estimate - interval.low, 1.96 * spread, 0.02);
	expect_near("high", interval.high - interval.estimate, 1.96 * spread, 0.02);
	/* Of a million objects of 14 T, .8 are missed. */
	struct bp_size_classes large = { 0 };
	add(&large, 1000000, 14 * INTERVAL);
	interval = bytes_of(&large, 0.05);
	double missed = large.of[14].n1, rest = interval.high - large.of[14].bytes;
	assert_true(missed > 0.7 && missed < 0.9);
	/* P(Poisson(.83) > 2) = .05, > 3 = .010: three objects, and part of a fourth. */
	assert_true(rest > 3 * 14 * INTERVAL && rest < 4 * 14 * INTERVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class),
		cmocka_unit_test(test_reference_values),
		cmocka_unit_test(test_values_of_mixed_classes),
		cmocka_unit_test(test_plain_without_large_samples),
		cmocka_unit_test(test_single_samples),
		cmocka_unit_test(test_small_rest_is_that_of_n3),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_order_and_nesting),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_mixed_intervals),
		cmocka_unit_test(test_extremes),
	};
	return cmocka_run_group_tests_name("estimate size classes", tests, NULL, NULL);
}
