/* SPDX-License-Identifier: MIT */
/*
 * Checks: outcomes at their edges, what would decide against the check's own power, the probability
 * of "within" at twice the bound by enumeration, and bounds of a ratio against those of compare.h.
 * Nothing here is random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "estimate/check.h"
#include "estimate/plan.h"

static void assert_near(double value, double expected, double relative)
{
	if (!(fabs(value - expected) <= relative * fabs(expected)))
		fail_msg("%.15g instead of %.15g", value, expected);
}

static void outcomes_at_the_edges(void **state)
{
	static const struct {
		struct bp_bounds bounds;
		double most;
		enum bp_outcome outcome;
	} cases[] = {
		{ { 1, 2 }, 3, BP_OUTCOME_WITHIN },
		{ { 1, 2 }, 2, BP_OUTCOME_WITHIN },
		{ { 1, 2 }, 1.5, BP_OUTCOME_UNDECIDED },
		{ { 1, 2 }, 1, BP_OUTCOME_UNDECIDED },
		{ { 1, 2 }, 0.999, BP_OUTCOME_EXCEEDED },
		{ { 5, 5 }, 5, BP_OUTCOME_WITHIN },
		{ { 5, 5 }, 4, BP_OUTCOME_EXCEEDED },
		{ { -INFINITY, 2 }, 1, BP_OUTCOME_UNDECIDED },
		{ { -INFINITY, 2 }, 2, BP_OUTCOME_WITHIN },
		{ { 1, INFINITY }, 1e300, BP_OUTCOME_UNDECIDED },
		{ { 1, INFINITY }, 0, BP_OUTCOME_EXCEEDED },
		{ { NAN, NAN }, 1, BP_OUTCOME_UNDECIDED },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(
			bp_check_outcome(cases[i].bounds, cases[i].most), cases[i].outcome);
}

static void worst_of_two(void **state)
{
	const enum bp_outcome within = BP_OUTCOME_WITHIN, exceeded = BP_OUTCOME_EXCEEDED,
			      undecided = BP_OUTCOME_UNDECIDED;
	(void)state;
	assert_int_equal(bp_check_both(within, within), within);
	assert_int_equal(bp_check_both(within, undecided), undecided);
	assert_int_equal(bp_check_both(undecided, within), undecided);
	assert_int_equal(bp_check_both(undecided, exceeded), exceeded);
	assert_int_equal(bp_check_both(exceeded, undecided), exceeded);
	assert_int_equal(bp_check_both(exceeded, within), exceeded);
	assert_string_equal(bp_outcome_names[exceeded], "exceeded");
}

/* What the interval itself says of no sample: 4.61 T at .01. */
static void least_bound_is_that_of_no_sample(void **state)
{
	struct bp_sums none = { 0 };
	(void)state;
	assert_near(bp_check_least(1 / bp_lambda(1 << 19), 0.01), 4.60517 * (1 << 19), 1e-5);
	for (double a = 1e-6; a < 0.4; a *= 3)
		assert_near(bp_check_least(1 / bp_lambda(102400), a),
			bp_estimate_bytes(&none, 102400, 2 * a).high, 1e-12);
}

static double choose_log(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* P(within) where `objects` objects of `size` are twice the bound, law `exact`. */
static double within_at_twice(uint64_t size, unsigned objects, uint64_t interval, double a)
{
	double most = (double)size * objects / 2, sum = 0;
	double p = bp_inclusion_probability(bp_trials(size, 1), interval);
	struct bp_sums sums = { 0 };
	for (unsigned s = 0; s <= objects; s++) {
		struct bp_interval figure = bp_estimate_bytes(&sums, interval, 2 * a);
		struct bp_bounds bounds = { figure.low, figure.high };
		if (bp_check_outcome(bounds, most) != BP_OUTCOME_WITHIN)
			break; /* nor with more samples */
		sum += exp(choose_log(objects, s) + s * log(p) + (objects - s) * log1p(-p));
		bp_sums_add(&sums, (double)size, size, 1, interval, false);
	}
	return sum;
}

/* At most a^2, for one size from .001 to .99 T and every number of objects with up to 40 expected
 * samples; reached (to .1 % of a^2) where no sample is due. */
static void twice_the_bound_is_seldom_within(void **state)
{
	static const double sizes[] = { 0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99 };
	static const double errors[] = { 0.05, 0.01, 0.001 };
	const uint64_t interval = 100000;
	(void)state;
	for (size_t e = 0; e < 3; e++) {
		double a = errors[e], worst = 0;
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			uint64_t size = (uint64_t)(sizes[i] * (double)interval);
			unsigned step = sizes[i] < 0.01 ? 7 : 1, most = (unsigned)(40 / sizes[i]);
			for (unsigned objects = 1; objects <= most; objects += step)
				worst = fmax(worst, within_at_twice(size, objects, interval, a));
		}
		print_message(
			"# within at twice the bound: at most %.6g, a^2 = %g\n", worst, a * a);
		assert_true(worst <= a * a * (1 + 1e-9));
		assert_true(worst >= a * a * 0.8); /* the enumeration does get there */
	}
}

/* Evidence of small objects: `bytes` estimated at T from as many samples as are due. */
static struct bp_check_evidence small_objects(double bytes, uint64_t interval)
{
	return (struct bp_check_evidence){ .rest = bytes,
		.variance = bytes * (double)interval,
		.unit = 1 / bp_lambda(interval),
		.interval = interval };
}

/* If the truth is the estimate, the check decides at the T it names in 80 % of runs at least. */
static void need_is_enough(void **state)
{
	static const double factors[] = { 1.06, 1.1, 1.2, 1.5, 2, 3, 10 };
	const uint64_t interval = 1 << 22;
	const double most = 64 << 20;
	(void)state;
	for (double a = 0.001; a < 0.1; a *= 5)
		for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
			for (int over = 0; over < 2; over++) {
				double f = factors[i], truth = over ? most * f : most / f;
				struct bp_check_need need =
					bp_check_need(small_objects(truth, interval), most, a, a);
				assert_true(need.decidable);
				assert_near(need.factor, f, 1e-9);
				assert_near(need.samples_now, 16, 1e-9);
				assert_true(need.interval <= interval / 2);
				assert_true((need.interval & (need.interval - 1)) == 0);
				assert_true(bp_plan_check_power(
						    over ? BP_PLAN_EXCEEDED : BP_PLAN_WITHIN,
						    most / (double)need.interval, f, a) >= 0.8);
				/* Nor is it far smaller than that takes. */
				assert_true(2.01 * (double)need.interval >=
					    fmin(most / need.samples, interval / 2));
			}
}

static void need_at_its_edges(void **state)
{
	struct bp_check_evidence evidence = small_objects(100e6, 524288);
	(void)state;
	/* Too near. */
	assert_false(bp_check_need(evidence, 100e6 * 1.04, 0.01, 0.01).decidable);
	assert_false(bp_check_need(evidence, 100e6 / 1.04, 0.01, 0.01).decidable);
	/* What is known is no part of the noise: 10 MB estimated beside 990 MB, against 1.02 GB. */
	evidence = small_objects(10e6, 524288);
	evidence.known = 990e6;
	struct bp_check_need need = bp_check_need(evidence, 1020e6, 0.01, 0.01);
	assert_true(need.decidable);
	assert_near(need.factor, 3, 1e-9);
	assert_near(need.samples_now, 30e6 / 524288, 1e-9);
	/* Nothing sampled: the bound must be ln(1/a) T. */
	need = bp_check_need(small_objects(0, 524288), 1 << 20, 0.01, 0.01);
	assert_true(need.decidable && isinf(need.factor));
	assert_near(need.samples, -log(0.01), 1e-9);
	assert_int_equal(need.interval, 131072);
	/* T = 1 leaves nothing to improve, and what is sampled alone is above the bound. */
	assert_false(bp_check_need(small_objects(100, 1), 50, 0.01, 0.01).decidable);
	evidence.known = 2000e6;
	assert_false(bp_check_need(evidence, 1020e6, 0.01, 0.01).decidable);
}

/* The smaller error of a peak's lower limit asks for more. */
static void need_of_a_peak(void **state)
{
	struct bp_check_evidence evidence = small_objects(100e6, 1 << 22);
	(void)state;
	struct bp_check_need plain = bp_check_need(evidence, 50e6, 0.01, 0.01);
	struct bp_check_need peak = bp_check_need(evidence, 50e6, 0.0001, 0.01);
	struct bp_check_need other = bp_check_need(evidence, 200e6, 0.0001, 0.01);
	assert_true(peak.samples > 1.3 * plain.samples);
	assert_near(other.samples, bp_check_need(evidence, 200e6, 0.01, 0.01).samples, 1e-12);
}

static struct bp_side side_of(double bytes, double interval)
{
	return (struct bp_side){ .estimate = bytes,
		.variance = bytes * interval,
		.unit = interval,
		.samples = (uint64_t)(bytes / interval) };
}

static void ratio_of_one_run_and_of_several(void **state)
{
	struct bp_side base[] = { side_of(10e6, 1e5), side_of(11e6, 1e5), side_of(9e6, 1e5) };
	struct bp_side new[] = { side_of(12e6, 1e5), side_of(14e6, 1e5), side_of(13e6, 1e5) };
	(void)state;
	struct bp_bounds one = bp_check_ratio(base, 1, new, 1, 0.01);
	assert_near(one.low, bp_ratio_lower(base, new, 0.01), 1e-12);
	assert_near(one.high, 1 / bp_ratio_lower(new, base, 0.01), 1e-12);
	assert_true(one.low < 1.2 && one.high > 1.2);
	struct bp_bounds three = bp_check_ratio(base, 3, new, 3, 0.01);
	struct bp_change change = bp_diff_runs(base, 3, new, 3, 0.02);
	assert_near(three.low, change.ratio.low, 1e-12);
	assert_near(three.high, change.ratio.high, 1e-12);
	/* Three runs that differ by 10 % know less than their samples alone would. */
	struct bp_side base_mean = bp_check_mean(base, 3), new_mean = bp_check_mean(new, 3);
	struct bp_bounds pooled = bp_check_ratio(&base_mean, 1, &new_mean, 1, 0.01);
	assert_near(base_mean.estimate, 10e6, 1e-12);
	assert_near(base_mean.variance, 10e6 * 1e5 / 3, 1e-12);
	assert_near(base_mean.unit, 1e5 / 3, 1e-12);
	assert_true(three.low < pooled.low && three.high > pooled.high);
}

static void need_of_a_ratio(void **state)
{
	struct bp_side base = side_of(10e6, 1e5), new = side_of(13e6, 1e5);
	struct bp_side counted = bp_side_of_count(10e6), nothing = { .unit = 1e5 };
	(void)state;
	struct bp_check_need need = bp_check_ratio_need(&base, &new, 100000, 1.05, 0.01);
	assert_true(need.decidable);
	assert_near(need.factor, 1.3 / 1.05, 1e-9);
	assert_near(
		need.samples, (double)bp_plan_samples_for_change(need.factor, 0.8, 0.02), 1e-12);
	/* 100 and 130 samples: their ratio has the variance 1/100 + 1/130. */
	assert_near(need.samples_now, (1 + 1 / need.factor) / (1.0 / 100 + 1.0 / 130), 1e-9);
	assert_true(need.interval <= 100000 / 2);
	/* A counted base has no noise of its own: fewer samples do. */
	struct bp_check_need half = bp_check_ratio_need(&counted, &new, 100000, 1.05, 0.01);
	assert_true(half.decidable && half.samples < 0.6 * need.samples);
	/* 5 % allowed and nothing grown is what one meets every day. */
	assert_true(bp_check_ratio_need(&base, &base, 100000, 1.05, 0.01).decidable);
	assert_false(bp_check_ratio_need(&base, &base, 100000, 1.01, 0.01).decidable);
	assert_false(bp_check_ratio_need(&counted, &counted, 100000, 1.05, 0.01).decidable);
	assert_true(bp_check_ratio_need(&nothing, &new, 100000, 1.05, 0.01).decidable);
}

/* Bounds 20 % away where 5 % are allowed: 16 times the samples, and some to spare. */
static void need_of_wide_bounds(void **state)
{
	struct bp_side side = side_of(100e6, 1e5);
	(void)state;
	struct bp_check_need need = bp_check_ratio_need(&side, &side, 100000, 1.05, 0.01);
	struct bp_bounds bounds = { 1 / 1.2155, 1.2155 }; /* 1.05^4 */
	struct bp_check_need wide = bp_check_need_of_bounds(need, bounds, 1, 100000, 1.05);
	assert_near(wide.samples / wide.samples_now, 16 * 1.35 * 1.35, 1e-3);
	assert_int_equal(wide.interval, 2048); /* 100000 / 29.2 and below */
	/* Bounds that are no wider change nothing; nor do bounds that are none. */
	struct bp_bounds narrow = { 0.99, 1.01 }, none = { 0, INFINITY };
	assert_near(
		bp_check_need_of_bounds(need, narrow, 1, 100000, 1.05).samples, need.samples, 0);
	assert_near(bp_check_need_of_bounds(need, none, 1, 100000, 1.05).samples, need.samples, 0);
}

/* Large objects by trial against a counted base: the limits of the error divided. */
static void ratios_that_need_room(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	for (int i = 0; i < 20; i++)
		bp_sums_add(&sums, 600000, 600000, 1, 100000, false);
	struct bp_side stepping = bp_side_of_values(&sums, 100000, 1);
	struct bp_side counted = bp_side_of_count(1e7);
	assert_true(stepping.lattice > 0);
	struct bp_bounds bounds = bp_check_ratio(&counted, 1, &stepping, 1, 0.01);
	struct bp_change careful = bp_diff_pair(&counted, &stepping, 2 * 0.01 / BP_DIFF_SAFETY);
	assert_true(bounds.low == careful.ratio.low && bounds.high == careful.ratio.high);
	/* Two estimated sides need none. */
	bounds = bp_check_ratio(&stepping, 1, &stepping, 1, 0.01);
	struct bp_change plain = bp_diff_pair(&stepping, &stepping, 0.02);
	assert_true(bounds.low == plain.ratio.low && bounds.high == plain.ratio.high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcomes_at_the_edges),
		cmocka_unit_test(worst_of_two),
		cmocka_unit_test(least_bound_is_that_of_no_sample),
		cmocka_unit_test(twice_the_bound_is_seldom_within),
		cmocka_unit_test(need_is_enough),
		cmocka_unit_test(need_at_its_edges),
		cmocka_unit_test(need_of_a_peak),
		cmocka_unit_test(ratio_of_one_run_and_of_several),
		cmocka_unit_test(need_of_a_ratio),
		cmocka_unit_test(need_of_wide_bounds),
		cmocka_unit_test(ratios_that_need_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
