/* SPDX-License-Identifier: MIT */
/*
 * Planning, against numbers got elsewhere: the table of docs/statistics.md "Planning"; the readings
 * of memray's two charts; powers by summing Poisson and binomial probabilities one by one; and
 * against the estimators themselves, from records of sums made sample by sample.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/diff.h"
#include "estimate/estimate.h"
#include "estimate/plan.h"
#include "estimate/numeric/special.h"

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static const struct bp_plan_key small_objects = { 0 };

static void test_factors(void **state)
{
	(void)state;
	static const struct {
		double samples, low, high;
	} rows[] = { { 1, .03, 5.57 }, { 3, .21, 2.92 }, { 10, .48, 1.84 }, { 30, .67, 1.43 },
		{ 100, .81, 1.22 }, { 1000, .94, 1.06 }, { 10000, .98, 1.02 } };
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		struct bp_plan_factors factors =
			bp_plan_factors(small_objects, rows[i].samples, 1 << 19, 0.05);
		if (fabs(factors.low - rows[i].low) > .005 ||
			fabs(factors.high - rows[i].high) > .005)
			fail_msg(
				"%g samples: [%g, %g]", rows[i].samples, factors.low, factors.high);
	}
	expect_near("no sample", bp_plan_unseen(0.05), 3.69, 0.001);
	struct bp_plan_factors known = bp_plan_factors(small_objects, 5, 1, 0.05);
	assert_true(known.low == 1 && known.high == 1);
}

static struct bp_plan_aim aim_of(double accuracy)
{
	return (struct bp_plan_aim){ accuracy, .8, .05 };
}

static double poisson(double n, double mean)
{
	return exp(n * log(mean) - mean - lgamma(n + 1));
}

/* The part of runs whose interval of a figure of small objects is within the accuracy. */
static double part_of_runs_within(double accuracy, double samples)
{
	double sum = 0;
	for (double s = fmax(1, floor(samples - 9 * sqrt(samples)));
		s < samples + 9 * sqrt(samples) + 20; s++) {
		const struct bp_plan_factors limits =
			bp_plan_factors(small_objects, s, 1 << 19, .05);
		if (limits.low >= 1 - accuracy && limits.high <= 1 + accuracy)
			sum += poisson(s, samples);
	}
	return sum;
}

/* `count` samples of one size, and what the estimator of a report says of them. */
static struct bp_sums sums_of(unsigned count, uint64_t size, uint64_t interval)
{
	struct bp_sums sums = { 0 };
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(&sums, (double)size, size, 0, interval, size >= interval);
	return sums;
}

static void test_samples_for_accuracy(void **state)
{
	(void)state;
	static const struct {
		double accuracy;
		uint64_t samples;
	} rows[] = { { 1, 11 }, { .5, 28 }, { .3, 63 }, { .2, 125 }, { .1, 441 }, { .05, 1649 },
		{ .02, 9883 }, { .01, 38970 } };
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		uint64_t samples = bp_plan_samples(0, 0, aim_of(rows[i].accuracy));
		assert_int_equal(samples, rows[i].samples);
		/* Exactly the power that was asked for, and the smallest number that has it. */
		assert_true(part_of_runs_within(rows[i].accuracy, (double)samples) >= .8);
		assert_true(part_of_runs_within(rows[i].accuracy, (double)samples - 1) < .8);
	}
	/* 423 samples are within 10 %, one fewer is not; expecting 423 does for half of the runs
	 * only. */
	struct bp_plan_factors at = bp_plan_factors(small_objects, 423, 1 << 19, 0.05);
	struct bp_plan_factors before = bp_plan_factors(small_objects, 422, 1 << 19, 0.05);
	assert_true(at.high <= 1.1 && at.low >= 0.9 && before.high > 1.1);
	expect_near("runs", part_of_runs_within(.1, 423), .506, .01);
	/* From the relative variance alone it would be z^2/accuracy^2 = 384. */
	assert_true(bp_plan_samples(0, 0, (struct bp_plan_aim){ .1, .8, .01 }) > 1.7 * 384);
}

/* The part of runs within 20 % where a key of `samples` expected samples is `share` of a total: the
 * sum over the numbers of both sides, in steps of two, each a Poisson variable. */
static double part_of_runs_of_a_share(double share, double samples)
{
	const uint64_t interval = 1 << 20;
	const double others = samples * (1 - share) / share;
	double sum = 0, all = 0;
	for (double s = 1; s < samples + 6 * sqrt(samples); s += 2)
		for (double o = 1; o < others + 6 * sqrt(others) + 6; o += 2) {
			const double chance = poisson(s, samples) * poisson(o, others);
			if (chance < 1e-7)
				continue;
			struct bp_sums key = sums_of((unsigned)s, 1, interval);
			struct bp_sums rest = sums_of((unsigned)o, 1, interval);
			const uint64_t total =
				(uint64_t)llround((samples + others) * (double)interval);
			const struct bp_interval report =
				bp_estimate_known_total(&key, &rest, interval, total, total, .05);
			all += chance;
			if (report.low >= .8 * report.estimate &&
				report.high <= 1.2 * report.estimate)
				sum += chance;
		}
	return sum / all;
}

static void test_parts_are_reached(void **state)
{
	static const double shares[] = { .1, .5, .8 };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(shares); i++) {
		const double samples = (double)bp_plan_samples(0, shares[i], aim_of(.2));
		const double part = part_of_runs_of_a_share(shares[i], samples);
		print_message("# %g of a total: %g samples, within in %.3f of runs\n", shares[i],
			samples, part);
		/* (Where the others leave few samples, whole numbers make it more.) */
		assert_true(part > .79 &&
			    part < (samples * (1 - shares[i]) / shares[i] > 20 ? .82 : .92));
	}
}

static void test_factors_are_the_reports(void **state)
{
	(void)state;
	static const uint64_t interval = 1 << 20;
	static const double relative[] = { 1e-6, .01, .1, .5, .9, 1, 4 };
	static const unsigned counts[] = { 1, 2, 7, 40, 300 };
	static const double alphas[] = { 0.2, 0.05, 0.001 };
	for (size_t i = 0; i < BP_COUNT(relative); i++)
		for (size_t j = 0; j < BP_COUNT(counts); j++)
			for (size_t k = 0; k < BP_COUNT(alphas); k++) {
				uint64_t size = (uint64_t)(relative[i] * (double)interval);
				struct bp_plan_key key = { .size = size };
				struct bp_sums sums = sums_of(counts[j], size, interval);
				struct bp_interval report =
					bp_estimate_bytes(&sums, interval, alphas[k]);
				struct bp_plan_factors plan =
					bp_plan_factors(key, counts[j], interval, alphas[k]);
				expect_near("low", plan.low * report.estimate, report.low, 2e-5);
				expect_near("high", plan.high * report.estimate, report.high, 2e-5);
			}
}

/* Part of a counted total: equal tiny objects, Clopper and Pearson's interval for the share. */
static void test_factors_of_a_part(void **state)
{
	(void)state;
	static const uint64_t interval = 1 << 20;
	struct bp_plan_key half = { .share = 0.5 };
	struct bp_sums key = sums_of(60, 1, interval), others = sums_of(60, 1, interval);
	uint64_t total = (uint64_t)llround(120 * (1 / bp_inclusion_probability(1, interval)));
	struct bp_interval report =
		bp_estimate_known_total(&key, &others, interval, total, total, 0.05);
	struct bp_plan_factors plan = bp_plan_factors(half, 60, interval, 0.05);
	expect_near("low", plan.low * report.estimate, report.low, 1e-6);
	expect_near("high", plan.high * report.estimate, report.high, 1e-6);
	/* 60 of 120, 95 %: [.40744, .59256]. */
	expect_near("low", plan.low / 2, 0.40744, 2e-4);
	expect_near("high", plan.high / 2, 0.59256, 2e-4);
	uint64_t alone = bp_plan_samples(0, 0, aim_of(.1));
	uint64_t in_half = bp_plan_samples(0, 0.5, aim_of(.1));
	uint64_t in_most = bp_plan_samples(0, 0.9, aim_of(.1));
	/* By the variance alone half and a tenth of 384; few samples of the others cost some more,
	 * and that 80 % of runs reach it .84 standard deviations: 19 and 23. */
	assert_in_range(in_half, 192 + 19, 210 + 19);
	assert_in_range(in_most, 38 + 23, 75 + 23);
	assert_true(alone > in_half);
}

/* Larger objects need fewer samples: about e^-x, and never less than by the variance. */
static void test_sizes(void **state)
{
	(void)state;
	static const double relative[] = { .01, .1, .25, .5, .75, .9 };
	uint64_t before = bp_plan_samples(0, 0, aim_of(.1));
	for (size_t i = 0; i < BP_COUNT(relative); i++) {
		uint64_t samples = bp_plan_samples(relative[i], 0, aim_of(.1));
		double by_variance = 384.15 * exp(-relative[i]);
		assert_true(samples < before);
		/* .84 standard deviations of the number of samples more, for 80 % of runs. */
		double more = .8416 * sqrt(by_variance * exp(-relative[i]));
		assert_true((double)samples > by_variance + more &&
			    (double)samples < 1.25 * by_variance + more);
		before = samples;
	}
}

/* The T found is the largest one, and a report at the expected samples is as accurate. */
static void test_interval(void **state)
{
	(void)state;
	static const struct bp_plan_key keys[] = { { 0 }, { .share = 0.5 }, { .size = 4096 },
		{ .size = 1 << 20 }, { .size = 65536, .share = 0.25 } };
	for (size_t i = 0; i < BP_COUNT(keys); i++)
		for (double accuracy = 0.02; accuracy < 1; accuracy *= 3) {
			double bytes = 300e6;
			uint64_t interval = bp_plan_interval(bytes, keys[i], aim_of(accuracy));
			assert_true(interval > 1);
			assert_true(
				bp_plan_accuracy(bytes, keys[i], interval, .8, .05) <= accuracy);
			assert_true(
				bp_plan_accuracy(bytes, keys[i], interval + 1, .8, .05) > accuracy);
		}
	/* Small objects: T is the bytes over the samples. */
	uint64_t interval = bp_plan_interval(107374182.4, small_objects, aim_of(.1));
	assert_true((double)interval >= floor(107374182.4 / 441) &&
		    (double)interval < 107374182.4 / 440);
	assert_int_equal(bp_plan_interval(10, small_objects, aim_of(.1)), 1);
	assert_true(isinf(bp_plan_accuracy(1000, small_objects, 4096, .8, .05)));
	assert_true(bp_plan_accuracy(1000, small_objects, 1, .8, .05) == 0);
}

static void test_equivalent_samples(void **state)
{
	(void)state;
	for (double samples = 0.4; samples < 1e6; samples *= 3.7) {
		struct bp_plan_factors factors =
			bp_plan_factors(small_objects, samples, 1 << 19, 0.05);
		expect_near("samples", bp_plan_equivalent_samples(factors.high - 1, 0.05), samples,
			1e-4);
	}
}

/* The T that is planned for the next run reaches the aim, and its rounded form is no larger. */
static void test_next_run(void **state)
{
	(void)state;
	const struct bp_plan_aim aim = aim_of(.1);
	const double needed = (double)bp_plan_samples(0, 0, aim);
	const uint64_t now = 4 << 20;
	struct bp_plan_next next = { 0 };
	for (double samples = 1; samples < 300; samples *= 2) {
		const double bytes = samples * (double)now;
		const struct bp_plan_factors factors =
			bp_plan_factors(small_objects, samples, now, aim.alpha);
		const struct bp_interval interval = {
			.estimate = bytes, .low = factors.low * bytes, .high = factors.high * bytes
		};
		assert_true(bp_plan_next(&interval, now, needed, aim, &next));
		assert_true(next.interval < now);
		assert_true(fabs(next.accuracy - (factors.high - 1)) < 1e-9);
		assert_true(bp_plan_accuracy(bytes, small_objects, next.interval, aim.power,
				    aim.alpha) <= aim.accuracy * 1.01);
		assert_true(bp_plan_round_interval(next.interval) <= next.interval);
	}
	const struct bp_interval exact = { .estimate = 5, .low = 5, .high = 5, .exact = true };
	const struct bp_interval none = { .estimate = 0, .low = 0, .high = 1e6 };
	assert_false(bp_plan_next(&exact, now, needed, aim, &next));
	assert_false(bp_plan_next(&none, now, needed, aim, &next));
	assert_int_equal(bp_plan_round_interval(1), 1);
	assert_int_equal(bp_plan_round_interval(3), 3);
	assert_int_equal(bp_plan_round_interval(6035), 4096);
	assert_int_equal(bp_plan_round_interval(6144), 6144);
}

static void test_interval_of_a_tenth(void **state)
{
	(void)state;
	const struct bp_plan_key tenth = { .share = .1 };
	for (double bytes = 50e3; bytes < 1e9; bytes *= 7) {
		const uint64_t interval = bp_plan_interval_of_tenth(bytes);
		assert_true(interval > 1);
		assert_true(bp_plan_accuracy(bytes / 10, tenth, interval, .8, .05) <= .1);
		assert_true(bp_plan_accuracy(bytes / 10, tenth, 2 * interval, .8, .05) > .1);
	}
	assert_int_equal(bp_plan_interval_of_tenth(0), 1);
}

static void test_expected_samples(void **state)
{
	(void)state;
	expect_near("small", bp_plan_expected_samples(1e9, 0, 1000), 1e6, 1e-12);
	expect_near("exact", bp_plan_expected_samples(1e9, 2000, 1000), 5e5, 1e-12);
	expect_near("half", bp_plan_expected_samples(1e9, 500, 1000),
		2e6 * (1 - pow(1 - 1e-3, 500)), 1e-12);
}

/* Terms of a binomial from `from` to `to`. */
static double binomial(unsigned n, unsigned from, unsigned to, double p)
{
	double sum = 0;
	for (unsigned i = from; i <= to && i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

/* The same power by double sums. */
static double power_by_sums(double samples, double factor, double level)
{
	double mean = samples * (1 + factor), sum = 0;
	for (unsigned n = 0; n < mean + 12 * sqrt(mean) + 20; n++) {
		unsigned critical = n + 1;
		while (critical > 0 && binomial(n, critical - 1, n, 0.5) <= level / 2)
			critical--;
		sum += poisson(n, mean) * binomial(n, critical, n, factor / (1 + factor));
	}
	return sum;
}

static void test_change_power(void **state)
{
	(void)state;
	static const double samples[] = { 0.3, 1, 5, 12, 40 }, factors[] = { 1.3, 2, 5 };
	for (size_t i = 0; i < BP_COUNT(samples); i++)
		for (size_t j = 0; j < BP_COUNT(factors); j++) {
			double s = samples[i], f = factors[j];
			double power = bp_plan_change_power(s, f, 0.05);
			assert_float_equal(power, power_by_sums(s, f, 0.05), 1e-6);
			assert_float_equal(bp_plan_change_power(s, f, 0.001),
				power_by_sums(s, f, 0.001), 1e-6);
			/* Shrinking is growing seen from the other side. */
			assert_true(bp_plan_change_power(s * f, 1 / f, 0.05) - power < 1e-9);
		}
	/* "No change" is rejected at most at the level, each direction at half of it. */
	for (double s = 0.5; s < 1e4; s *= 2)
		assert_true(bp_plan_change_power(s, 1 + 1e-9, 0.05) <= 0.025);
}

/* The rejections are those of the test that `diff` makes of the same samples. */
/* The time does not grow with the factor. Without a sample before, a two-sided 5 % test needs 6 of
 * them after. */
static void test_power_of_large_factors(void **state)
{
	(void)state;
	assert_float_equal(bp_plan_change_power(2, 1e12, 0.05), 1, 1e-7);
	assert_float_equal(bp_plan_change_power(20000, 1e300, 1e-9), 1, 1e-7);
	assert_float_equal(bp_plan_change_power(1e-9, 5e9, 0.05), bp_gamma_p(6, 5), 1e-8);
	assert_int_equal(bp_plan_samples_for_change(1e15, 0.8, 0.05), 1);
}

static void test_change_power_is_that_of_compare(void **state)
{
	(void)state;
	static const uint64_t interval = (uint64_t)1 << 32;
	static const double samples[] = { 2, 9, 25 }, factors[] = { 1.5, 2, 3 };
	for (size_t i = 0; i < BP_COUNT(samples); i++) {
		double power = 0, s = samples[i], f = factors[BP_COUNT(samples) - 1 - i];
		for (unsigned a = 0; a < s + 8 * sqrt(s) + 8; a++)
			for (unsigned b = 0; b < f * s + 8 * sqrt(f * s) + 8; b++) {
				struct bp_sums base_sums = sums_of(a, 1, interval);
				struct bp_sums new_sums = sums_of(b, 1, interval);
				struct bp_side base = bp_side_of_values(&base_sums, interval, 1);
				struct bp_side new = bp_side_of_values(&new_sums, interval, 1);
				struct bp_change change = bp_diff_pair_p(&base, &new);
				if (change.p <= 0.05 && change.p_increase < change.p_decrease)
					power += poisson(a, s) * poisson(b, f * s);
			}
		assert_float_equal(bp_plan_change_power(s, f, 0.05), power, 1e-6);
	}
}

static void test_samples_for_change(void **state)
{
	(void)state;
	static const struct {
		double factor;
		uint64_t samples;
	} rows[] = { { 1.05, 6476 }, { 1.1, 1668 }, { 1.2, 441 }, { 1.3, 207 }, { 1.5, 82 },
		{ 2, 25 }, { 3, 9 }, { 4, 5 } };
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		double factor = rows[i].factor;
		uint64_t samples = bp_plan_samples_for_change(factor, 0.8, 0.05);
		assert_int_equal(samples, rows[i].samples);
		assert_true(bp_plan_change_power((double)samples, factor, 0.05) >= 0.8);
		assert_true(bp_plan_change_power((double)samples - 1, factor, 0.05) < 0.8);
		double found = bp_plan_smallest_change((double)samples, 0.8, 0.05);
		assert_true(found <= factor * (1 + 1e-4));
		assert_true(bp_plan_change_power((double)samples, found, 0.05) >= 0.8);
		/* Shrunk by as much: as many after, so more before. */
		uint64_t before = bp_plan_samples_for_change(1 / factor, 0.8, 0.05);
		expect_near("before", (double)before, ceil((double)samples * factor), 1e-3);
	}
}

/* Where the exact sum ends and the normal approximation begins there is no step. */
static void test_normal_joins_exact(void **state)
{
	(void)state;
	for (double level = 0.05; level > 1e-4; level /= 10)
		for (double power = 0.5; power < 1; power += 0.2) {
			double factor = bp_plan_smallest_change(20000, power, level);
			expect_near("factor", bp_plan_smallest_change(20001, power, level), factor,
				2e-5);
			expect_near("samples",
				(double)bp_plan_samples_for_change(factor, power, level), 20000,
				0.002);
			factor = bp_plan_smallest_change(25000, power, level);
			expect_near("samples",
				(double)bp_plan_samples_for_change(factor, power, level), 25000,
				0.0005);
		}
}

/* The check's table of docs/statistics.md, found by a coarse search: its numbers lie between the
 * first limit at which the probability is reached and the one from which on it always is. */
static void test_gate_samples(void **state)
{
	(void)state;
	static const double factors[] = { 1.1, 1.2, 1.5, 2, 3 };
	static const double table[2][2][BP_COUNT(factors)] = {
		[BP_PLAN_EXCEEDED] = { { 1070, 284, 51, 15, 4.7 }, { NAN, 612, 110, 33, 11 } },
		[BP_PLAN_WITHIN] = { { NAN, 348, 82, 34, 16 }, { NAN, 729, 161, 65, 31 } },
	};
	for (int outcome = BP_PLAN_EXCEEDED; outcome <= BP_PLAN_WITHIN; outcome++)
		for (int sure = 0; sure < 2; sure++)
			for (size_t i = 0; i < BP_COUNT(factors); i++) {
				double wanted = table[outcome][sure][i], first = wanted / 1.5;
				double power = sure ? 0.99 : 0.8;
				double from = bp_plan_check_samples(
					(enum bp_plan_outcome)outcome, factors[i], power, 0.01);
				if (isnan(wanted))
					continue;
				while (bp_plan_check_power((enum bp_plan_outcome)outcome, first,
					       factors[i], 0.01) < power)
					first *= 1.0005;
				double rounding = wanted >= 10 ? 0.5 : 0.05;
				if (wanted < first - rounding || wanted > 1.015 * from + rounding)
					fail_msg("%d F %g %g: %g in [%g, %g]?", outcome, factors[i],
						power, wanted, first, from);
			}
}

/* From there on, always; just below, not. */
static void test_gate_samples_are_the_smallest(void **state)
{
	(void)state;
	static const double factors[] = { 1.3, 2, 5 }, errors[] = { 0.05, 0.01, 0.001 };
	for (int which = 0; which < 2; which++)
		for (size_t i = 0; i < BP_COUNT(factors); i++)
			for (size_t j = 0; j < BP_COUNT(errors); j++) {
				enum bp_plan_outcome outcome = (enum bp_plan_outcome)which;
				double factor = factors[i], a = errors[j];
				double from = bp_plan_check_samples(outcome, factor, 0.9, a);
				for (double s = from * (1 + 1e-9); s < 4 * from; s *= 1.003)
					assert_true(bp_plan_check_power(outcome, s, factor, a) >=
						    0.9 - 1e-9);
				double below =
					bp_plan_check_power(outcome, from * (1 - 1e-6), factor, a);
				assert_true(below < 0.9);
			}
}

/* P(exceeded) at the limit, and P(within) just above it, are at most the false-alarm rate; and the
 * decisions are those of the bounds of estimate.h. */
static void test_gate_power(void **state)
{
	(void)state;
	static const uint64_t interval = (uint64_t)1 << 32;
	for (double limit = 0.5; limit < 300; limit *= 1.07) {
		double exceeded = 0, within = 0, factor = 1.4, a = 0.01;
		for (unsigned s = 0; s < 900; s++) {
			struct bp_sums sums = sums_of(s, 1, interval);
			struct bp_interval bounds = bp_estimate_bytes(&sums, interval, 2 * a);
			if (bounds.low > limit * (double)interval)
				exceeded += poisson(s, factor * limit);
			if (bounds.high <= limit * (double)interval)
				within += poisson(s, limit / factor);
		}
		assert_float_equal(
			bp_plan_check_power(BP_PLAN_EXCEEDED, limit, factor, a), exceeded, 1e-7);
		assert_float_equal(
			bp_plan_check_power(BP_PLAN_WITHIN, limit, factor, a), within, 1e-7);
		assert_true(bp_plan_check_power(BP_PLAN_EXCEEDED, limit, 1 + 1e-9, a) <= a * 1.001);
		assert_true(bp_plan_check_power(BP_PLAN_WITHIN, limit, 1 + 1e-9, a) <= a * 1.001);
	}
}

/* What memray's page reads off its charts, and the table of the reference. */
static void test_charts(void **state)
{
	(void)state;
	static const struct {
		uint64_t size;
		double chance, error;
	} rows[] = { { 1, .00195, 511 }, { 16, .0308, 31.5 }, { 64, .118, 7.50 },
		{ 256, .394, 1.54 } };
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		expect_near("chance", bp_plan_chance(rows[i].size, 512), rows[i].chance, 0.0043);
		expect_near("error", bp_plan_error_if_sampled(rows[i].size, 512), rows[i].error,
			0.0025);
	}
	assert_float_equal(bp_plan_chance(1536, 512), .950, .0005);
	assert_float_equal(bp_plan_chance(3584, 2048), .826, .0005);
	expect_near("1 byte", bp_plan_error_if_sampled(1, 1024), 1023, 1e-12);
	/* Up to T it is 1/pi - 1; the last byte makes it exact. */
	expect_near("below T", bp_plan_error_if_sampled(511, 512), .5829, 1e-4);
	assert_true(bp_plan_error_if_sampled(512, 512) == 0);
	assert_true(bp_plan_error_if_sampled(UINT64_MAX, 512) == 0);
	assert_true(bp_plan_chance(1, 1) == 1 && bp_plan_chance(UINT64_MAX, 2) == 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_factors),
		cmocka_unit_test(test_samples_for_accuracy),
		cmocka_unit_test(test_parts_are_reached),
		cmocka_unit_test(test_factors_are_the_reports),
		cmocka_unit_test(test_factors_of_a_part),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_equivalent_samples),
		cmocka_unit_test(test_next_run),
		cmocka_unit_test(test_interval_of_a_tenth),
		cmocka_unit_test(test_expected_samples),
		cmocka_unit_test(test_change_power),
		cmocka_unit_test(test_power_of_large_factors),
		cmocka_unit_test(test_change_power_is_that_of_compare),
		cmocka_unit_test(test_samples_for_change),
		cmocka_unit_test(test_normal_joins_exact),
		cmocka_unit_test(test_gate_samples),
		cmocka_unit_test(test_gate_samples_are_the_smallest),
		cmocka_unit_test(test_gate_power),
		cmocka_unit_test(test_charts),
	};
	return cmocka_run_group_tests_name("estimate plan", tests, NULL, NULL);
}
