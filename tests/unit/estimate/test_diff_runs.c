/* SPDX-License-Identifier: MIT */
/*
 * Several runs a side, against Student's distribution with 2 and 4 degrees of freedom, whose
 * formulas are elementary; runs that do not vary; one run on a side; the spread between runs; and
 * adjusted p-values.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/diff.h"

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (value != wanted && !(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

/* P(t > x), and the 97.5 % quantiles. */
static double student_2(double x)
{
	return 0.5 - 0.5 * x / sqrt(2 + x * x);
}

static double student_4(double x)
{
	double w = 1 + x * x / 4;
	return 0.5 - 0.375 * x / sqrt(w) * (1 - x * x / w / 12);
}

static const double quantile_2 = 4.302652729749462, quantile_4 = 2.776445105197793;

static struct bp_side counted[16];

static const struct bp_side *count_all(size_t at, const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		counted[at + i] = bp_side_of_count(values[i]);
	return counted + at;
}

static struct bp_change compare_counts(
	const double *base, size_t base_count, const double *new, size_t new_count)
{
	const struct bp_side *a = count_all(0, base, base_count);
	return bp_diff_runs(a, base_count, count_all(8, new, new_count), new_count, 0.05);
}

/* Counted runs have no sampling noise: Welch's test alone is left. */
static void test_welch(void **state)
{
	(void)state;
	const double a[] = { 10, 12, 14 }, b[] = { 15, 17, 19 };
	struct bp_change change = compare_counts(a, 3, b, 3); /* S^2 = 4 on both sides: 4 degrees */
	double deviation = sqrt(4.0 / 3 + 4.0 / 3), t = 5 / deviation;
	expect_near("p", change.p, 2 * student_4(t), 1e-12);
	expect_near("p_mid", change.p_mid, 2 * student_4(t), 1e-12);
	expect_near("increase", change.p_increase, student_4(t), 1e-12);
	expect_near("decrease", change.p_decrease, 1, 1e-12); /* counted: certainly not smaller */
	expect_near("low", change.difference.low, 5 - quantile_4 * deviation, 1e-11);
	expect_near("high", change.difference.high, 5 + quantile_4 * deviation, 1e-11);
	assert_false(change.difference.exact || change.ratio.exact || change.ratio.unknown);
	expect_near("ratio", change.ratio.estimate, 17.0 / 12, 1e-14);

	/* One side steady: its degrees of freedom are the other's, 2. */
	const double c[] = { 20, 20, 20, 20 };
	change = compare_counts(a, 3, c, 4);
	deviation = sqrt(4.0 / 3);
	expect_near("p", change.p, 2 * student_2(8 / deviation), 1e-12);
	expect_near("low", change.difference.low, 8 - quantile_2 * deviation, 1e-11);
	double factor = exp(quantile_2 * deviation / 12);
	expect_near("ratio low", change.ratio.low, 20.0 / 12 / factor, 1e-11);
	expect_near("ratio high", change.ratio.high, 20.0 / 12 * factor, 1e-11);
}

static struct bp_side sampled(unsigned samples)
{
	struct bp_sums sums = { .interval_max = 524288 };
	for (unsigned i = 0; i < samples; i++)
		bp_sums_add(&sums, 64, 64, 1, 524288, false);
	return bp_side_of_values(&sums, 524288, 1);
}

static struct bp_side pooled(const struct bp_side *runs, size_t count)
{
	struct bp_side sum = runs[0];
	for (size_t i = 1; i < count; i++)
		sum = bp_side_add(sum, runs[i]);
	return bp_side_scale(sum, 1 / (double)count);
}

/* The mean of a sample: Student's interval with one degree of freedom less than there are runs. */
static void test_mean(void **state)
{
	(void)state;
	const double a[] = { 10, 12, 14 }, b[] = { 7, 7, 7 }, c[] = { 0, 0, 9 };
	struct bp_interval mean = bp_mean_of_runs(count_all(0, a, 3), 3, 0.05);
	expect_near("mean", mean.estimate, 12, 1e-14);
	expect_near("low", mean.low, 12 - quantile_2 * sqrt(4.0 / 3), 1e-11);
	expect_near("high", mean.high, 12 + quantile_2 * sqrt(4.0 / 3), 1e-11);
	/* All alike: they may go either way between two neighbours. */
	mean = bp_mean_of_runs(count_all(0, b, 3), 3, 0.05);
	expect_near("low", mean.low, 7 - quantile_2 * sqrt(1.0 / 12), 1e-11);
	expect_near("high", mean.high, 7 + quantile_2 * sqrt(1.0 / 12), 1e-11);
	/* Nothing is below 0. */
	mean = bp_mean_of_runs(count_all(0, c, 3), 3, 0.05);
	expect_near("low", mean.low, 0, 0);
	expect_near("high", mean.high, 3 + quantile_2 * sqrt(27.0 / 3), 1e-11);
	assert_false(mean.exact);
}

/* Sampled hosts that are alike: what sampling leaves is not narrowed by variance that is small by
 * accident. Those that are not: Student's. */
static void test_mean_of_sampled(void **state)
{
	(void)state;
	const struct bp_side alike[] = { sampled(9), sampled(9), sampled(9) };
	const struct bp_side wild[] = { sampled(100), sampled(300), sampled(200) };
	const struct bp_side nothing = bp_side_of_count(0), sum = pooled(alike, 3);
	const struct bp_interval sampling = bp_diff_pair(&nothing, &sum, 0.05).difference;
	struct bp_interval mean = bp_mean_of_runs(alike, 3, 0.05);
	assert_true(mean.low <= sampling.low && mean.high >= sampling.high);
	mean = bp_mean_of_runs(wild, 3, 0.05);
	const double one = wild[0].estimate / 100, half = quantile_2 * 100 * one / sqrt(3);
	expect_near("low", mean.low, fmax(0, 200 * one - half), 1e-11);
	expect_near("high", mean.high, 200 * one + half, 1e-11);
}

/* Sampled runs: the larger of the two p-values, the hull of the two intervals. */
static void test_larger_of_both(void **state)
{
	(void)state;
	/* Wild runs of many samples: Welch decides. */
	struct bp_side a[] = { sampled(100), sampled(300), sampled(500) };
	struct bp_side b[] = { sampled(500), sampled(700), sampled(900) };
	double unit = sampled(1).estimate, deviation = 200 * unit * sqrt(2.0 / 3);
	struct bp_change change = bp_diff_runs(a, 3, b, 3, 0.05);
	struct bp_side base = pooled(a, 3), new = pooled(b, 3);
	struct bp_change sampling = bp_diff_pair(&base, &new, 0.05);
	expect_near("p", change.p, 2 * student_4(400 * unit / deviation), 1e-11);
	assert_true(sampling.p < 1e-50);
	expect_near("low", change.difference.low, 400 * unit - quantile_4 * deviation, 1e-10);
	assert_true(
		change.ratio.low < sampling.ratio.low && change.ratio.high > sampling.ratio.high);

	/* Runs of few samples that happen to be alike: sampling noise decides. */
	struct bp_side c[] = { sampled(2), sampled(2), sampled(3) };
	struct bp_side d[] = { sampled(4), sampled(5), sampled(5) };
	change = bp_diff_runs(c, 3, d, 3, 0.05);
	base = pooled(c, 3);
	new = pooled(d, 3);
	sampling = bp_diff_pair(&base, &new, 0.05);
	assert_true(change.p == sampling.p && change.p_mid == sampling.p_mid && change.p > 0.1);
	assert_true(change.difference.low == sampling.difference.low);
	assert_true(change.p_increase == sampling.p_increase);
	assert_int_equal(base.samples, 7);
	expect_near("unit", base.unit, sampled(0).unit / 3, 1e-15);
}

/* No run differs from the others of its side. */
static void test_runs_that_do_not_vary(void **state)
{
	(void)state;
	const double a[] = { 1, 1, 1 }, b[] = { 2, 2, 2 }, c[] = { 123456, 123456, 123456 };
	struct bp_change change = compare_counts(a, 3, b, 3);
	double t = 1 / sqrt(2 * 0.25 / 3); /* each may be off by half a step */
	expect_near("p", change.p, 2 * student_4(t), 1e-12);
	assert_true(change.p > 1.0 / 32); /* what two fair coins do by chance */
	change = compare_counts(a, 3, c, 3);
	assert_true(change.p < 1e-15 && change.difference.low > 123450);
	change = compare_counts(c, 3, c, 3);
	assert_true(change.p == 1 && change.p_mid == 1 && change.p_increase == 1);
	assert_true(change.difference.low < 0 && change.difference.high < 3);

	/* Sampled: the step is the unseen unit. Nothing anywhere: nothing said. */
	struct bp_side none[] = { sampled(0), sampled(0), sampled(0) };
	change = bp_diff_runs(none, 3, none, 3, 0.05);
	assert_true(change.p == 1 && change.ratio.unknown && change.ratio.low == 0);
	assert_true(isinf(change.ratio.high) && change.difference.estimate == 0);
	struct bp_side few[] = { sampled(1), sampled(1), sampled(1) };
	change = bp_diff_runs(none, 3, few, 3, 0.05);
	assert_true(change.p > 0.05 && change.difference.low < 0);
	assert_true(change.ratio.unknown && change.ratio.low < 1 && isinf(change.ratio.high));

	/* Per unit of work: quotients that are equal but for their rounding. */
	struct bp_side quotients[3], others[3];
	for (int i = 0; i < 3; i++) {
		quotients[i] = bp_side_scale(bp_side_of_count(7e8 * (i + 3)), 1.0 / (i + 3));
		others[i] = bp_side_scale(bp_side_of_count(7e8 * (i + 7)), 1.0 / (i + 7));
	}
	assert_true(bp_diff_runs(quotients, 3, others, 3, 0.05).p > 0.9);
}

static void test_one_run_on_a_side(void **state)
{
	(void)state;
	struct bp_side a[] = { sampled(30) }, b[] = { sampled(50), sampled(60) };
	struct bp_side mean = pooled(b, 2);
	struct bp_change change = bp_diff_runs(a, 1, b, 2, 0.05);
	struct bp_change wanted = bp_diff_pair(a, &mean, 0.05);
	assert_true(change.p == wanted.p && change.difference.low == wanted.difference.low &&
		    change.ratio.high == wanted.ratio.high);
	change = bp_diff_runs(a, 1, b, 1, 0.05);
	wanted = bp_diff_pair(a, b, 0.05);
	assert_true(change.p == wanted.p && change.difference.high == wanted.difference.high);
}

static void test_between_runs(void **state)
{
	(void)state;
	struct bp_side runs[] = { sampled(100), sampled(300), sampled(500) };
	double unit = runs[0].estimate / 100, noise = 300 * sampled(1).variance;
	expect_near("spread", bp_between_runs_deviation(runs, 3), sqrt(4e4 * unit * unit - noise),
		1e-12);
	struct bp_side alike[] = { sampled(100), sampled(102) };
	assert_true(bp_between_runs_deviation(alike, 2) == 0);
	const double counts[] = { 1e15, 1e15 + 2 };
	expect_near("counts", bp_between_runs_deviation(count_all(0, counts, 2), 2), 0, 0);
	const double small[] = { 1000, 1002 };
	expect_near("counts", bp_between_runs_deviation(count_all(0, small, 2), 2), sqrt(2), 1e-14);
}

static void test_false_discovery(void **state)
{
	(void)state;
	double p[] = { 0.5, 0.01, 0.02, 0.01, 1, 0 }, q[6];
	size_t order[6];
	bp_benjamini_hochberg(p, 6, order, q);
	const double wanted[] = { 0.6, 0.02, 0.03, 0.02, 1, 0 };
	const size_t sorted[] = { 5, 1, 3, 2, 0, 4 }; /* equal ones in their own order */
	for (size_t i = 0; i < 6; i++) {
		expect_near("q", q[i], wanted[i], 1e-14);
		assert_int_equal(order[i], sorted[i]);
	}
	bp_benjamini_hochberg(p, 6, order, p); /* in place */
	assert_memory_equal(p, q, sizeof p);

	double one = 0.3, none = 7;
	bp_benjamini_hochberg(&one, 1, order, &one);
	assert_true(one == 0.3);
	bp_benjamini_hochberg(&none, 0, order, &none);
	assert_true(none == 7);
}

/* Two hundred p-values in disorder, with ties, against the definition. */
static void test_false_discovery_definition(void **state)
{
	(void)state;
	enum { COUNT = 200 };
	double p[COUNT], q[COUNT];
	size_t order[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		p[i] = (double)(i * 7919 % 113) / 113;
	bp_benjamini_hochberg(p, COUNT, order, q);
	for (size_t i = 0; i < COUNT; i++) {
		double least = 1;
		for (size_t j = 0; j < COUNT; j++) {
			double rank = 0;
			for (size_t k = 0; k < COUNT; k++)
				rank += p[k] <= p[j];
			if (p[j] >= p[i])
				least = fmin(least, p[j] * COUNT / rank);
		}
		expect_near("q", q[i], least, 1e-14);
		size_t a = order[i], b = order[i + 1 < COUNT ? i + 1 : i];
		assert_true(p[a] < p[b] || (p[a] == p[b] && a <= b));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_mean),
		cmocka_unit_test(test_mean_of_sampled),
		cmocka_unit_test(test_larger_of_both),
		cmocka_unit_test(test_runs_that_do_not_vary),
		cmocka_unit_test(test_one_run_on_a_side),
		cmocka_unit_test(test_between_runs),
		cmocka_unit_test(test_false_discovery),
		cmocka_unit_test(test_false_discovery_definition),
	};
	return cmocka_run_group_tests_name("compare runs", tests, NULL, NULL);
}
