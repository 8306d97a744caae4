/* SPDX-License-Identifier: MIT */
/*
 * Two figures compared: reference values that are not in values.csv; equal tiny sizes, where the
 * p-value is that of a binomial test; counted numbers and T = 1; nothing sampled; the part of a
 * figure that is certain; the promises that
 * p-values and limits agree, exchange and scale; and figures of any magnitude.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/diff.h"

#define INTERVAL UINT64_C(524288)

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (value != wanted && !(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static void add(struct bp_sums *sums, unsigned count, uint64_t size, uint64_t interval, bool exact)
{
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(sums, (double)size, size, 0, interval, exact && size >= interval);
}

static struct bp_side side_of(unsigned count, uint64_t size)
{
	struct bp_sums sums = { 0 };
	add(&sums, count, size, INTERVAL, true);
	return bp_side_of_values(&sums, INTERVAL, 1);
}

static struct bp_side side_of_two(unsigned a, uint64_t size_a, unsigned b, uint64_t size_b)
{
	struct bp_sums sums = { 0 };
	add(&sums, a, size_a, INTERVAL, true);
	add(&sums, b, size_b, INTERVAL, true);
	return bp_side_of_values(&sums, INTERVAL, 1);
}

/* The plain form of the reference values: nothing certain, gammas of the whole figures. */
static struct bp_side plain(struct bp_side side)
{
	side.certain = side.taken = 0;
	return side;
}

static void test_reference_differences(void **state)
{
	(void)state;
	struct bp_side base = plain(side_of(3, 1024)), new = plain(side_of(12, 1024));
	struct bp_change change = bp_diff_pair(&base, &new, 0.05);
	expect_near("3, 12: low", change.difference.low, 301892.8979, 1e-9);
	expect_near("3, 12: high", change.difference.high, 9687592.729, 1e-9);
	base = plain(side_of(0, 0));
	new = plain(side_of(5, 64));
	change = bp_diff_pair(&base, &new, 0.05);
	expect_near("0, 5: low", change.difference.low, -116849.5634, 1e-9);
	expect_near("0, 5: high", change.difference.high, 6117699.868, 1e-9);
	base = plain(side_of_two(20, 16, 5, 65536));
	new = plain(side_of_two(31, 16, 9, 65536));
	change = bp_diff_pair(&base, &new, 0.05);
	expect_near("mixed: low", change.difference.low, -794205.3927, 1e-9);
	expect_near("mixed: high", change.difference.high, 17011977.21, 1e-9);
}

/* Nothing sampled in the base, one object of 1 MiB taken exactly in the new. */
static void test_reference_exact_object(void **state)
{
	(void)state;
	struct bp_side base = side_of(0, 0), new = plain(side_of(1, 1 << 20));
	assert_true(new.variance == 0 && new.unit > 0 && new.lattice == 0);
	struct bp_change change = bp_diff_pair(&base, &new, 0.05);
	expect_near("p", change.p, 0.270670050210, 1e-11);
	assert_true(change.ratio.unknown && isinf(change.ratio.high));
	expect_near("ratio", change.ratio.low, 0.542170578418, 1e-11);
	expect_near("low", change.difference.low, -885457.3868, 1e-9);
	expect_near("high", change.difference.high, 2754815.2657, 1e-10);
	expect_near("estimate", change.difference.estimate, 1 << 20, 0);
}

/* P(at least `count` of `all` are heads). */
static double heads_at_least(unsigned count, unsigned all)
{
	double at = ldexp(1, -(int)all), sum = 0;
	for (unsigned i = 0; i <= all; i++) {
		if (i >= count)
			sum += at;
		at *= (double)(all - i) / (i + 1);
	}
	return sum;
}

/* Of a + b samples of one-byte objects b are the new side's: a coin, if both are equal. */
static void test_tiny_objects_are_a_binomial_test(void **state)
{
	(void)state;
	static const unsigned counts[][2] = { { 0, 0 }, { 0, 6 }, { 1, 3 }, { 7, 7 }, { 20, 45 } };
	for (size_t i = 0; i < BP_COUNT(counts); i++) {
		unsigned a = counts[i][0], b = counts[i][1], all = a + b;
		struct bp_sums sums[2] = { { 0 }, { 0 } };
		const uint64_t interval = UINT64_C(1) << 40;
		add(&sums[0], a, 1, interval, true);
		add(&sums[1], b, 1, interval, true);
		struct bp_side base = bp_side_of_values(&sums[0], interval, 1);
		struct bp_side new = bp_side_of_values(&sums[1], interval, 1);
		struct bp_change change = bp_diff_pair(&base, &new, 0.05);
		double increase = heads_at_least(b, all), decrease = heads_at_least(a, all);
		double above = heads_at_least(b + 1, all), below = heads_at_least(a + 1, all);
		expect_near("increase", change.p_increase, increase, 1e-9);
		expect_near("decrease", change.p_decrease, decrease, 1e-9);
		expect_near("p", change.p, fmin(1, 2 * fmin(increase, decrease)), 1e-9);
		expect_near("p_mid", change.p_mid,
			fmin(1, fmin(increase + above, decrease + below)), 1e-9);
	}
}

static void test_counted_numbers(void **state)
{
	(void)state;
	struct bp_side small = bp_side_of_count(100), large = bp_side_of_count(250);
	struct bp_change change = bp_diff_pair(&small, &large, 0.05);
	assert_true(change.p == 0 && change.p_mid == 0);
	assert_true(change.p_increase == 0 && change.p_decrease == 1);
	assert_true(change.difference.exact && change.difference.low == 150 &&
		    change.difference.estimate == 150 && change.difference.high == 150);
	assert_true(change.ratio.exact && change.ratio.low == 2.5 && change.ratio.high == 2.5);
	change = bp_diff_pair(&small, &small, 0.05);
	assert_true(change.p == 1 && change.p_mid == 1 && change.ratio.estimate == 1);

	struct bp_side none = bp_side_of_count(0);
	change = bp_diff_pair(&none, &small, 0.05);
	assert_true(change.p == 0 && change.difference.low == 100);
	assert_true(change.ratio.unknown && isinf(change.ratio.low) && isinf(change.ratio.high));
	change = bp_diff_pair(&none, &none, 0.05);
	assert_true(change.p == 1 && change.p_mid == 1 && change.difference.exact);
	assert_true(change.ratio.unknown && change.ratio.low == 0 && isinf(change.ratio.high));
}

/* Everything recorded on one side: its sum is a number, and the other side's limits are those of
 * one gamma law, N3's for tiny objects. */
static void test_everything_recorded_on_one_side(void **state)
{
	(void)state;
	struct bp_sums all = { 0 }, some = { 0 };
	add(&all, 1000, 500, 1, true);
	add(&some, 9, 1, UINT64_C(1) << 40, true);
	struct bp_side base = bp_side_of_values(&all, 1, 1);
	struct bp_side new = bp_side_of_values(&some, UINT64_C(1) << 40, 1);
	assert_true(base.estimate == 500000 && base.variance == 0 && base.unit == 0);
	assert_int_equal(base.samples, 1000);
	struct bp_interval own = bp_estimate_bytes(&some, UINT64_C(1) << 40, 0.05);
	struct bp_change change = bp_diff_pair(&base, &new, 0.05);
	expect_near("low", change.difference.low, own.low - 500000, 1e-9);
	expect_near("high", change.difference.high, own.high - 500000, 1e-9);
	expect_near("ratio low", change.ratio.low, own.low / 500000, 1e-9);
	expect_near("ratio high", change.ratio.high, own.high / 500000, 1e-9);
	assert_true(change.p < 1e-6 && change.p_increase < 1e-6 && change.p_decrease > 0.999);

	struct bp_change back = bp_diff_pair(&new, &base, 0.05);
	expect_near("back", back.difference.high, -change.difference.low, 1e-12);
	expect_near("back", back.ratio.low, 1 / change.ratio.high, 1e-12);
	base = bp_side_of_objects(&all, 1, 16, 1);
	assert_true(base.estimate == 1000 && base.variance == 0 && base.unit == 0);
}

static void test_nothing_sampled(void **state)
{
	(void)state;
	struct bp_side none = side_of(0, 0);
	double limit = -log(0.025) / bp_lambda(INTERVAL);
	struct bp_change change = bp_diff_pair(&none, &none, 0.05);
	assert_true(change.p == 1 && change.p_mid == 1);
	assert_true(change.p_increase == 1 && change.p_decrease == 1);
	expect_near("low", change.difference.low, -limit, 1e-12);
	expect_near("high", change.difference.high, limit, 1e-12);
	assert_true(change.difference.estimate == 0 && !change.difference.exact);
	assert_true(change.ratio.unknown && isnan(change.ratio.estimate));
	assert_true(change.ratio.low == 0 && isinf(change.ratio.high));
}

/* Steps are a matter of the law: three objects of 3 T as trials move in steps of their size. */
static void test_steps_of_large_objects(void **state)
{
	(void)state;
	struct bp_sums trials = { 0 }, taken = { 0 };
	add(&trials, 3, 3 * INTERVAL, INTERVAL, false);
	add(&taken, 3, 3 * INTERVAL, INTERVAL, true);
	struct bp_side side = bp_side_of_values(&trials, INTERVAL, 1);
	expect_near("bytes", side.lattice, 3 * (double)INTERVAL, 1e-9);
	assert_true(bp_side_of_values(&taken, INTERVAL, 1).lattice == 0);
	struct bp_side objects = bp_side_of_objects(&trials, INTERVAL, 16, 1);
	expect_near("objects", objects.lattice, 1, 1e-9);

	/* The lower law moves by half a step: 3 objects against none are less of a proof; the upper
	 * law by a quarter. */
	struct bp_side none = side_of(0, 0), smooth = side;
	smooth.lattice = 0;
	struct bp_change with = bp_diff_pair(&none, &side, 0.05);
	struct bp_change without = bp_diff_pair(&none, &smooth, 0.05);
	assert_true(with.p > 3 * without.p);
	assert_true(with.difference.low < without.difference.low);
	double moved = with.difference.high - without.difference.high;
	assert_true(moved > 0.5 * INTERVAL && moved < 1.5 * INTERVAL);

	/* A trial is not in every sample, however large. */
	assert_true(side.taken == 0 && side.certain == 9.0 * INTERVAL);
}

/* What is certain, and what of it is in every sample, from the sums. */
static void test_certain_part(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 16, 4096, 200000, 500000 };
	for (size_t i = 0; i < BP_COUNT(sizes); i++) {
		double size = (double)sizes[i];
		struct bp_side side = side_of_two(7, sizes[i], 3, 2 * INTERVAL);
		expect_near("certain", side.certain, 7 * size + 6.0 * INTERVAL, 1e-14);
		assert_true(fabs(side.taken - 6.0 * INTERVAL) < 1e-6 * size);
		side = side_of(7, sizes[i]);
		assert_true(side.certain == 7 * size && side.taken < 1e-6 * size);
	}
	struct bp_side exact = side_of(4, INTERVAL);
	assert_true(exact.certain == exact.estimate && exact.taken == exact.estimate);
	struct bp_sums sums = { 0 };
	add(&sums, 5, 64, INTERVAL, true);
	add(&sums, 2, INTERVAL, INTERVAL, true);
	struct bp_side objects = bp_side_of_objects(&sums, INTERVAL, 16, 1);
	expect_near("objects", objects.certain, 7, 0);
	expect_near("objects", objects.taken, 2, 1e-6);
}

/* What both sides hold for certain takes no part: p and difference are those of the rest. */
static void test_certain_bytes_cancel(void **state)
{
	(void)state;
	struct bp_side base = side_of(4, 64), new = side_of(18, 64);
	struct bp_side base_more = side_of_two(4, 64, 30, 4 * INTERVAL);
	struct bp_side new_more = side_of_two(18, 64, 30, 4 * INTERVAL);
	struct bp_change change = bp_diff_pair(&base, &new, 0.05);
	struct bp_change more = bp_diff_pair(&base_more, &new_more, 0.05);
	expect_near("p", more.p, change.p, 1e-8);
	expect_near("low", more.difference.low, change.difference.low, 1e-8);
	expect_near("high", more.difference.high, change.difference.high, 1e-8);
	assert_true(more.ratio.low > 1 && more.ratio.low < 1.1);
	assert_true(more.ratio.high > 1.1 && more.ratio.high < 1.3);

	/* Against a counted number the upper limit of 7 objects of .75 T is N3's, K included. */
	struct bp_sums sums = { 0 };
	add(&sums, 7, 3 * INTERVAL / 4, INTERVAL, true);
	struct bp_interval own = bp_estimate_bytes(&sums, INTERVAL, 0.05);
	struct bp_side counted = bp_side_of_count(1e6), side = side_of(7, 3 * INTERVAL / 4);
	change = bp_diff_pair(&counted, &side, 0.05);
	expect_near("N3", change.difference.high, own.high - 1e6, 1e-9);
	expect_near("N3", change.ratio.high, own.high / 1e6, 1e-9);
}

static const struct {
	unsigned count_a, count_b;
	uint64_t size_a, size_b;
} pairs[] = {
	{ 1, 1, 16, 16 },
	{ 0, 4, 16, 300000 },
	{ 3, 12, 1024, 1024 },
	{ 40, 9, 64, 200000 },
	{ 5, 6, 500000, 2000000 },
	{ 700, 640, 4096, 4096 },
	{ 30000, 28000, 48, 48 },
};

/* The p-value of an increase is the error at which the lower limits reach "no change". */
static void test_limits_and_p_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(pairs); i++) {
		struct bp_side base = side_of(pairs[i].count_a, pairs[i].size_a);
		struct bp_side new = side_of(pairs[i].count_b, pairs[i].size_b);
		struct bp_change change = bp_diff_pair_p(&base, &new);
		double deviation = sqrt(base.variance + new.variance + base.unit *base.unit);
		if (change.p_increase < 1) {
			double low = bp_diff_lower(&base, &new, change.p_increase);
			assert_true(fabs(low) < 1e-9 * deviation);
			expect_near(
				"ratio", bp_ratio_lower(&base, &new, change.p_increase), 1, 1e-9);
		}
		if (change.p_decrease < 1) {
			double low = bp_diff_lower(&new, &base, change.p_decrease);
			assert_true(fabs(low) < 1e-9 * deviation);
		}
	}
}

static void test_exchanged_and_scaled(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(pairs); i++) {
		struct bp_side base = side_of(pairs[i].count_a, pairs[i].size_a);
		struct bp_side new = side_of(pairs[i].count_b, pairs[i].size_b);
		new.lattice = 1e5;
		struct bp_change change = bp_diff_pair(&base, &new, 0.05);
		struct bp_change back = bp_diff_pair(&new, &base, 0.05);
		assert_true(change.p == back.p && change.p_mid == back.p_mid);
		assert_true(change.p_increase == back.p_decrease);
		assert_true(change.difference.low == -back.difference.high);
		expect_near("ratio", change.ratio.high, 1 / back.ratio.low, 1e-15);

		/* By a power of two: to the last bit. By something else: to rounding. */
		static const double factors[] = { 0x1p-30, 1.0 / 1234.5 };
		for (size_t j = 0; j < BP_COUNT(factors); j++) {
			double factor = factors[j], tolerance = j == 0 ? 0 : 1e-11;
			struct bp_side base_scaled = bp_side_scale(base, factor);
			struct bp_side new_scaled = bp_side_scale(new, factor);
			struct bp_change scaled = bp_diff_pair(&base_scaled, &new_scaled, 0.05);
			expect_near("p", scaled.p, change.p, tolerance);
			expect_near("p_mid", scaled.p_mid, change.p_mid, tolerance);
			expect_near("low", scaled.difference.low, factor * change.difference.low,
				tolerance);
			expect_near("high", scaled.difference.high, factor * change.difference.high,
				tolerance);
			expect_near("ratio", scaled.ratio.low, change.ratio.low, tolerance);
			expect_near("ratio", scaled.ratio.high, change.ratio.high, tolerance);
		}
	}
}

/* Two halves of a run added are the run: one unseen unit, not two. */
static void test_added(void **state)
{
	(void)state;
	struct bp_side half = side_of(6, 1024), whole = side_of(12, 1024);
	struct bp_side sum = bp_side_add(half, half);
	expect_near("estimate", sum.estimate, whole.estimate, 1e-14);
	expect_near("variance", sum.variance, whole.variance, 1e-14);
	assert_true(sum.unit == whole.unit && sum.samples == 12);
	struct bp_side exact = side_of(2, INTERVAL), both = bp_side_add(half, exact);
	expect_near("certain", both.certain, 6 * 1024 + 2.0 * INTERVAL, 1e-14);
	expect_near("taken", both.taken, 2.0 * INTERVAL, 1e-9);
	both = bp_side_add(bp_side_scale(both, 0.5), bp_side_of_count(7));
	expect_near("certain", both.certain, 3 * 1024 + 1.0 * INTERVAL + 7, 1e-14);
	expect_near("taken", both.taken, 1.0 * INTERVAL + 7, 1e-9);
}

static void test_order_and_levels(void **state)
{
	(void)state;
	static const double alphas[] = { 0.5, 0.1, 0.05, 0.01, 1e-3, 1e-6, 1e-12 };
	for (size_t i = 0; i < BP_COUNT(pairs); i++) {
		struct bp_side base = side_of(pairs[i].count_a, pairs[i].size_a);
		struct bp_side new = side_of(pairs[i].count_b, pairs[i].size_b);
		struct bp_change before = { 0 }, only_p = bp_diff_pair_p(&base, &new);
		for (size_t j = 0; j < BP_COUNT(alphas); j++) {
			struct bp_change change = bp_diff_pair(&base, &new, alphas[j]);
			struct bp_interval d = change.difference, r = change.ratio;
			assert_true(d.low < d.estimate && d.estimate < d.high && !d.exact);
			assert_true(r.unknown || (r.low < r.estimate && r.estimate < r.high));
			if (j > 0)
				assert_true(d.low < before.difference.low &&
					    d.high > before.difference.high &&
					    r.low <= before.ratio.low &&
					    r.high >= before.ratio.high);
			assert_true(change.p == only_p.p && change.p_mid == only_p.p_mid);
			before = change;
		}
		assert_true(isinf(only_p.difference.high) && isinf(only_p.ratio.high));
	}
}

/* 1e15 bytes with an error of 1e7: shapes of 1e16, where gamma laws are normal. */
static void test_large_figures(void **state)
{
	(void)state;
	struct bp_side base = { .estimate = 1e15, .variance = 1e14, .unit = 5e5, .samples = 1000 };
	struct bp_side new = {
		.estimate = 1e15 + 5e7, .variance = 1e14, .unit = 5e5, .samples = 1000
	};
	struct bp_change change = bp_diff_pair(&base, &new, 0.05);
	double deviation = sqrt(2e14 + 25e10), z = (5e7 - 5e5) / deviation;
	expect_near("p", change.p, erfc(z / sqrt(2)), 1e-5);
	expect_near("low", change.difference.low, 5e7 - 5e5 - 1.959963985 * deviation, 1e-6);
	expect_near("high", change.difference.high, 5e7 + 5e5 + 1.959963985 * deviation, 1e-6);
	expect_near("ratio", change.ratio.low, 1 + change.difference.low / 1e15, 1e-14);

	/* Nearly all of it exact, against a counted number. */
	struct bp_side counted = bp_side_of_count(1e15);
	change = bp_diff_pair(&counted, &new, 0.05);
	expect_near("low", change.difference.low, 5e7 - 1.959963985e7, 1e-6);
	expect_near("p", change.p_increase, 0.5 * erfc(5 / sqrt(2)), 1e-4);
}

/* A count against thousands of times as much, of large shape: so far out that the contour integral
 * is nothing but rounding. Fails with a NaN, and p = 1, if that is taken as a tail. */
static void test_count_against_far_more(void **state)
{
	(void)state;
	for (double shape = 1.01e4; shape < 1e13; shape *= 10)
		for (double ratio = 0.1; ratio > 1e-30; ratio /= 10) {
			struct bp_side base = bp_side_of_count(1e12 * ratio), new = { 0 };
			new.estimate = 1e12;
			new.variance = 1e24 / shape;
			struct bp_change up = bp_diff_pair(&base, &new, 0.05);
			struct bp_change down = bp_diff_pair(&new, &base, 0.05);
			assert_true(up.p_increase == 0 && up.p_decrease == 1 && up.p == 0);
			assert_true(down.p_increase == 1 && down.p_decrease == 0 && down.p == 0);
			assert_true(up.difference.low > 0 && up.ratio.low > 1);
			assert_true(down.difference.high < 0 && down.ratio.high < 1);
		}
}

/* The same of two sampled figures. */
static void test_sampled_against_far_more(void **state)
{
	(void)state;
	struct bp_side more = { 49472090698997.023, 3.6316660824692444e+20, 4764237954.9237051,
		24562354.036976982, 97, 49396059221706.758, 0 };
	struct bp_side less = { 8731.9411997933821, 396.06630261530148, 0.045505395716601352,
		0.00014705038356244919, 191899, 28.219237776053241, 0 };
	assert_true(bp_diff_pair_p(&less, &more).p_increase == 0);
	assert_true(bp_diff_pair_p(&more, &less).p_decrease == 0);
}

/* Also where one unseen unit, of runs with a larger T, is far above the estimate. */
static void test_mid_p_is_at_most_p(void **state)
{
	(void)state;
	struct bp_side new = { .estimate = 1.5e7, .variance = 8e12, .unit = 524288 };
	for (double unit = 524288; unit < 1e12; unit *= 3) {
		struct bp_side base = { .estimate = 3.5e9, .variance = 3.7e14, .unit = unit };
		struct bp_change change = bp_diff_pair_p(&base, &new);
		assert_true(change.p < 1e-30 && change.p_mid <= change.p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_differences),
		cmocka_unit_test(test_reference_exact_object),
		cmocka_unit_test(test_tiny_objects_are_a_binomial_test),
		cmocka_unit_test(test_counted_numbers),
		cmocka_unit_test(test_everything_recorded_on_one_side),
		cmocka_unit_test(test_nothing_sampled),
		cmocka_unit_test(test_steps_of_large_objects),
		cmocka_unit_test(test_certain_part),
		cmocka_unit_test(test_certain_bytes_cancel),
		cmocka_unit_test(test_limits_and_p_agree),
		cmocka_unit_test(test_exchanged_and_scaled),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_order_and_levels),
		cmocka_unit_test(test_large_figures),
		cmocka_unit_test(test_count_against_far_more),
		cmocka_unit_test(test_sampled_against_far_more),
		cmocka_unit_test(test_mid_p_is_at_most_p),
	};
	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
