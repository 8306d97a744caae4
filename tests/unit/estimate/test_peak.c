/* SPDX-License-Identifier: MIT */
/*
 * The peak's helpers: what makes two halves independent samples, and what the widened interval
 * keeps of the plain one.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/estimate.h"

/* For each object, P(in a half) must be the half's inclusion and P(in both) its square. */
static void test_halves_are_independent(void **state)
{
	(void)state;
	static const uint64_t trials[] = { 1, 17, 4097, 65536, 1 << 20, 1 << 30 };
	for (size_t i = 0; i < BP_COUNT(trials); i++) {
		struct bp_half_split split = bp_split_in_halves(trials[i], 65536, false);
		double whole = bp_inclusion_probability(trials[i], 65536);
		double in_both = whole * split.both;
		double in_one = whole * (split.both + (1 - split.both) / 2);
		assert_true(fabs(in_one - split.inclusion) <= 1e-14 * split.inclusion);
		assert_true(fabs(in_both - split.inclusion * split.inclusion) <= 1e-14 * in_both);
		assert_true(split.both > 0 && split.both <= 1);
	}
}

static void test_exact_goes_to_both(void **state)
{
	(void)state;
	struct bp_half_split exact = bp_split_in_halves(65536, 65536, true);
	struct bp_half_split all = bp_split_in_halves(1, 1, false);
	assert_true(exact.both == 1 && exact.inclusion == 1);
	assert_true(all.both == 1 && all.inclusion == 1);
}

static void test_level(void **state)
{
	(void)state;
	assert_true(bp_peak_lower_level(0.05, 0, BP_PEAK_FACTOR) == 0.025);
	assert_true(bp_peak_lower_level(0.05, 4, 25) == 0.025 / 101);
	assert_true(bp_peak_lower_level(0.05, 4, 25) < bp_peak_lower_level(0.05, 4, 12));
}

static void test_interval(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	for (unsigned i = 0; i < 50; i++)
		bp_sums_add(&sums, 100, 100, 1, 65536, false);
	struct bp_interval plain = bp_estimate_bytes(&sums, 65536, 0.05);
	struct bp_interval wide = bp_estimate_bytes(&sums, 65536, 0.05 / 501);
	struct bp_interval moment = bp_peak_moment_interval(plain, wide);
	assert_true(moment.high == plain.high && moment.low == wide.low && wide.low < plain.low);
	assert_true(moment.estimate == plain.estimate);
	struct bp_interval peak = bp_peak_interval(moment, 0, 0, plain.estimate * 0.9);
	assert_true(peak.low == moment.low && peak.high == moment.high);
	assert_true(peak.estimate == plain.estimate * 0.9);
	/* Another moment's upper limit, and what is certain at another one. */
	peak = bp_peak_interval(moment, 2 * moment.high, moment.low + 1, plain.estimate);
	assert_true(peak.high == 2 * moment.high && peak.low == moment.low + 1);
	/* A cross-fitted value outside the limits moves none of them. */
	peak = bp_peak_interval(moment, 0, 0, 5);
	assert_true(peak.low == moment.low && peak.estimate == moment.low);
	peak = bp_peak_interval(moment, 0, 0, 1e12);
	assert_true(peak.high == moment.high && peak.estimate == moment.high);
	/* What is certain may lie above every limit, with the probability of their error. */
	peak = bp_peak_interval(moment, 0, 2 * moment.high, 0);
	assert_true(peak.low == peak.high && peak.estimate == peak.high && !peak.exact);
}

/* The search's limit against the limit itself: for 0 to 1000 samples of each of several sizes
 * beside what was taken exactly. It is farthest off where nothing was sampled, and at small
 * errors. */
static void test_limit_about(void **state)
{
	(void)state;
	const uint64_t interval = 65536;
	const double unit = 1 / bp_lambda(interval), errors[] = { .25, .025, .0005, 1e-6 };
	const double most[] = { .01, .01, .04, .1 };
	for (unsigned e = 0; e < 4; e++)
		for (uint64_t size = 16; size < interval; size = size * 3 + 7)
			for (unsigned samples = 0; samples <= 1000; samples = samples * 3 + 1) {
				struct bp_sums sums = { 0 };
				for (unsigned i = 0; i < samples; i++)
					bp_sums_add(&sums, (double)size, size, 1, interval, false);
				bp_sums_add(&sums, 1e6, 1000000, 1, interval, true);
				const struct bp_cumulants cumulants = { sums.bytes, sums.c1,
					sums.c2, sums.c3 };
				const double limit =
					bp_estimate_bytes(&sums, interval, 2 * errors[e]).high;
				const double about = bp_upper_limit_about(
					&cumulants, unit, bp_limit_depth(errors[e]));
				const double above = limit - sums.bytes;
				assert_true(fabs(about - limit) <= most[e] * above);
				const double low =
					bp_estimate_bytes(&sums, interval, 2 * errors[e]).low;
				const double low_about =
					bp_lower_limit_about(&cumulants, bp_limit_depth(errors[e]));
				assert_true(low_about >= sums.bytes);
				assert_true(low_about - low <= .35 * sqrt(sums.c2) + 1e-6);
				assert_true(low_about - low >= -.04 * sqrt(sums.c2) - 1e-6);
			}
}

static void test_exact_peak(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	bp_sums_add(&sums, 100, 100, 1, 1, true);
	struct bp_interval known = bp_estimate_bytes(&sums, 1, 0.05);
	struct bp_interval peak =
		bp_peak_interval(bp_peak_moment_interval(known, known), 500, 100, 90);
	assert_true(peak.exact && peak.low == 100 && peak.estimate == 100 && peak.high == 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves_are_independent),
		cmocka_unit_test(test_exact_goes_to_both),
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_limit_about),
		cmocka_unit_test(test_exact_peak),
	};
	return cmocka_run_group_tests_name("estimate peak", tests, NULL, NULL);
}
