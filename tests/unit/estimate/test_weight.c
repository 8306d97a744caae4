/* SPDX-License-Identifier: MIT */
/*
 * The law of a sample and the sums: special sizes and intervals, what is taken exactly, values that
 * are not sizes, and merging, which must not depend on how the samples were divided.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/estimate.h"

static void expect_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-12 * fabs(wanted)))
		fail_msg("%.17g, not %.17g", value, wanted);
}

static void test_law(void **state)
{
	(void)state;
	assert_true(isinf(bp_lambda(1)));
	expect_near(bp_lambda(2), log(2));
	expect_near(bp_inclusion_probability(1, 524288), 1 / 524288.0);
	expect_near(bp_inclusion_probability(3, 2), 0.875);
	assert_true(bp_inclusion_probability(0, 512) == 0);
	assert_true(bp_inclusion_probability(0, 1) == 0);
	assert_true(bp_inclusion_probability(1, 1) == 1);
	assert_true(bp_inclusion_probability(UINT64_MAX, 512) == 1);
	/* 1 - pow(1 - p, m) has only seven digits left here. */
	double p = bp_inclusion_probability(1, UINT64_C(1) << 40);
	assert_true(p == ldexp(1, -40));
}

static void test_trials(void **state)
{
	(void)state;
	assert_int_equal(bp_trials(0, 0), 1);
	assert_int_equal(bp_trials(0, 1), 1);
	assert_int_equal(bp_trials(16, 1), 17);
	assert_true(bp_trials(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(bp_trials(UINT64_MAX - 1, 1) == UINT64_MAX);
}

static void test_empty_sums(void **state)
{
	(void)state;
	struct bp_sums none, other;
	memset(&none, 0, sizeof none);
	memset(&other, 0, sizeof other);
	bp_sums_merge(&none, &other);
	assert_memory_equal(&none, &other, sizeof none);
}

/* T = 2, one byte: pi = 1/2, g = 1, so that every sum is a small integer. */
static void test_one_sample(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 1, 1, 0, 2, false);
	assert_int_equal(sums.samples, 1);
	expect_near(sums.bytes, 1);
	expect_near(sums.c1, 1);
	expect_near(sums.c2, 2);
	expect_near(sums.c3, 6);
	expect_near(sums.n3, 6);
	expect_near(sums.log_pi_sum, -log(2));
	assert_true(sums.has_first && !sums.mixed && !sums.bernoulli);
	assert_int_equal(sums.interval_max, 2);
	assert_true(sums.ratio_max == 0);
}

static void test_taken_exactly(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 4096, 4096, 1, 512, true);
	bp_sums_add(&sums, 8192, 8192, 1, 512, true);
	assert_int_equal(sums.samples, 2);
	assert_true(sums.bytes == 12288 && sums.c1 == 0 && sums.c2 == 0 && sums.n1 == 0);
	assert_true(sums.log_pi_sum == 0);
	assert_false(sums.has_first || sums.mixed || sums.bernoulli);
	/* T = 1 takes everything exactly, whatever the law was called. */
	struct bp_sums all = { 0 };
	bp_sums_add(&all, 8, 8, 1, 1, false);
	bp_sums_add(&all, 0, 0, 1, 1, true);
	assert_true(all.bytes == 8 && all.c1 == 0 && all.n1 == 0 && !all.bernoulli);
	assert_int_equal(all.interval_max, 1);
}

/* An object so large that it cannot be missed, and sizes no memory has: no infinity, no NaN. */
static void test_extreme_sizes(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 0, 1, 699 * 512, 701 * 512, UINT64_MAX };
	for (size_t i = 0; i < BP_COUNT(sizes); i++) {
		struct bp_sums sums = { 0 };
		bp_sums_add(&sums, (double)sizes[i], sizes[i], i % 2, 512, false);
		assert_true(isfinite(sums.c3) && isfinite(sums.n3) && isfinite(sums.log_pi_sum));
	}
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 1, 1, 0, UINT64_MAX, false);
	assert_true(isfinite(sums.c3) && sums.n1 > 1e19);
}

static bool is_mixed(uint64_t size, uint32_t charge, uint64_t interval, double value)
{
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 1 << 20, 1 << 20, 1, 4096, true); /* exact: of no account */
	bp_sums_add(&sums, 64, 64, 1, 4096, false);
	bp_sums_add(&sums, value, size, charge, interval, false);
	return sums.mixed;
}

static void test_mixed(void **state)
{
	(void)state;
	assert_false(is_mixed(64, 1, 4096, 64));
	assert_true(is_mixed(65, 1, 4096, 65));
	assert_true(is_mixed(64, 2, 4096, 64));
	assert_true(is_mixed(64, 1, 8192, 64));
	assert_true(is_mixed(64, 1, 4096, 72));
}

static void test_mixed_after_merge(void **state)
{
	(void)state;
	struct bp_sums a = { 0 }, b = { 0 }, c = { 0 }, exact = { 0 };
	bp_sums_add(&a, 64, 64, 1, 4096, false);
	bp_sums_add(&b, 64, 64, 1, 4096, false);
	bp_sums_add(&c, 64, 64, 1, 8192, false);
	bp_sums_add(&exact, 9000, 9000, 1, 4096, true);
	bp_sums_merge(&exact, &a);
	assert_true(exact.has_first && !exact.mixed);
	bp_sums_merge(&exact, &b);
	assert_false(exact.mixed);
	bp_sums_merge(&exact, &c);
	assert_true(exact.mixed);
	assert_int_equal(exact.interval_max, 8192);
	struct bp_sums later = { 0 };
	bp_sums_merge(&later, &exact);
	assert_true(later.mixed);
}

static void test_bernoulli(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 510, 510, 1, 512, false);
	assert_false(sums.bernoulli);
	bp_sums_add(&sums, 511, 511, 1, 512, false); /* m = T */
	assert_true(sums.bernoulli);
	struct bp_sums merged = { 0 };
	bp_sums_merge(&merged, &sums);
	assert_true(merged.bernoulli);
}

/* Usable sizes: the value is summed, the requested size decides the odds. */
static void test_values(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 }, sizes = { 0 };
	bp_sums_add(&sums, 24, 0, 1, 2, false);	 /* 24 bytes for one trial, g = 1 */
	bp_sums_add(&sums, 24, 17, 1, 2, false); /* 24 for 18 trials */
	expect_near(sums.bytes, 48);
	expect_near(sums.c1, 24 + 24 / (pow(2, 18) - 1));
	assert_true(sums.ratio_max == 24);
	bp_sums_add(&sizes, 17, 17, 1, 2, false);
	assert_true(sizes.ratio_max == 0);
	bp_sums_merge(&sizes, &sums);
	assert_true(sizes.ratio_max == 24);
}

/* One pile, or many piles merged in order: the same sums, to rounding. */
static void test_merge_is_addition(void **state)
{
	(void)state;
	struct bp_sums whole = { 0 }, merged = { 0 }, part[7] = { 0 };
	uint64_t size = 1;
	for (unsigned i = 0; i < 700; i++) {
		size = (size * 25214903917 + 11) % 70001;
		bp_sums_add(&whole, (double)size, size, 1, 65536, size + 1 >= 65536);
		bp_sums_add(&part[i % 7], (double)size, size, 1, 65536, size + 1 >= 65536);
	}
	for (unsigned i = 0; i < 7; i++)
		bp_sums_merge(&merged, &part[i]);
	assert_int_equal(merged.samples, 700);
	assert_true(merged.bytes == whole.bytes);
	expect_near(merged.c1, whole.c1);
	expect_near(merged.c2, whole.c2);
	expect_near(merged.c3, whole.c3);
	expect_near(merged.n1, whole.n1);
	expect_near(merged.n2, whole.n2);
	expect_near(merged.n3, whole.n3);
	expect_near(merged.log_pi_sum, whole.log_pi_sum);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_empty_sums),
		cmocka_unit_test(test_one_sample),
		cmocka_unit_test(test_taken_exactly),
		cmocka_unit_test(test_extreme_sizes),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_mixed_after_merge),
		cmocka_unit_test(test_bernoulli),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_merge_is_addition),
	};
	return cmocka_run_group_tests_name("estimate weight", tests, NULL, NULL);
}
