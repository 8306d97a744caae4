/* SPDX-License-Identifier: MIT */
/*
 * The N3 interval in its special cases: no sample, only exact samples, T = 1, mixed T, one size
 * against Clopper and Pearson computed by summing binomial probabilities, values that are not
 * sizes, one-sided limits, and the promise low <= estimate <= high on everything.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/estimate.h"

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static void add(struct bp_sums *sums, unsigned count, uint64_t size, uint64_t interval)
{
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(sums, (double)size, size, 0, interval, false);
}

/* P(no sample) is exp(-lambda N) for any mix of N bytes, so the limit is ln(1 / a) / lambda. */
static void test_no_sample(void **state)
{
	(void)state;
	static const double alphas[] = { 0.5, 0.1, 0.05, 0.01, 1e-6, 1e-12 };
	struct bp_sums none = { 0 };
	for (size_t i = 0; i < BP_COUNT(alphas); i++) {
		struct bp_interval bytes = bp_estimate_bytes(&none, 524288, alphas[i]);
		double limit = -log(alphas[i] / 2);
		assert_true(bytes.estimate == 0 && bytes.low == 0 && !bytes.exact);
		expect_near("bytes", bytes.high, limit / bp_lambda(524288), 1e-13);
		struct bp_interval objects = bp_estimate_objects(&none, 524288, alphas[i], 16, 1);
		double unit = 1 / bp_inclusion_probability(17, 524288);
		expect_near("objects", objects.high, limit * unit, 1e-13);
	}
	expect_near("3.689 T", bp_estimate_bytes(&none, 102400, 0.05).high / 102400, 3.689, 1e-4);
}

/* The largest T counts, be it the key's or the one in force when the key had no sample. */
static void test_largest_interval(void **state)
{
	(void)state;
	struct bp_sums none = { .interval_max = 4096 };
	assert_true(bp_estimate_bytes(&none, 512, 0.05).high ==
		    bp_estimate_bytes(&none, 4096, 0.05).high);
	assert_true(bp_estimate_bytes(&none, 8192, 0.05).high >
		    1.9 * bp_estimate_bytes(&none, 4096, 0.05).high);
}

/* Exact samples are certain, but something small may be there unseen. */
static void test_only_exact_samples(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 }, none = { 0 };
	bp_sums_add(&sums, 1 << 20, 1 << 20, 1, 4096, true);
	bp_sums_add(&sums, 1 << 21, 1 << 21, 1, 4096, true);
	struct bp_interval bytes = bp_estimate_bytes(&sums, 4096, 0.05);
	double unseen = bp_estimate_bytes(&none, 4096, 0.05).high;
	assert_true(bytes.estimate == 3 << 20 && bytes.low == 3 << 20 && !bytes.exact);
	expect_near("high", bytes.high, (3 << 20) + unseen, 1e-14);
	struct bp_interval objects = bp_estimate_objects(&sums, 4096, 0.05, 16, 1);
	assert_true(objects.estimate == 2 && objects.low == 2 && objects.high > 2);
}

static void test_everything_taken(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 }, none = { 0 };
	bp_sums_add(&sums, 100, 100, 1, 1, true);
	bp_sums_add(&sums, 0, 0, 1, 1, false);
	struct bp_interval bytes = bp_estimate_bytes(&sums, 1, 0.05);
	assert_true(bytes.exact && bytes.low == 100 && bytes.estimate == 100 && bytes.high == 100);
	struct bp_interval objects = bp_estimate_objects(&sums, 1, 0.05, 0, 1);
	assert_true(objects.exact && objects.low == 2 && objects.high == 2);
	assert_true(bp_estimate_bytes(&none, 1, 0.05).exact);
	/* Part of the window had another T: no longer exact. */
	assert_false(bp_estimate_bytes(&sums, 64, 0.05).exact);
	assert_true(bp_estimate_bytes(&sums, 64, 0.05).high > 100);
}

/* P(S >= s) of a binomial, by summing. */
static double binomial_at_least(unsigned n, double p, unsigned s)
{
	double sum = 0;
	for (unsigned i = s; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

/* One size: the lower limit is the smallest number of objects that would give as many samples with
 * more than the wanted probability, times the size. */
static void test_one_size_is_clopper_pearson(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1000, 10000, 50000, 90000 };
	for (size_t i = 0; i < BP_COUNT(sizes); i++)
		for (unsigned s = 1; s <= 12; s++) {
			struct bp_sums sums = { .single_size = true };
			add(&sums, s, sizes[i], 100000);
			double p = bp_inclusion_probability(sizes[i], 100000);
			unsigned n = s;
			while (binomial_at_least(n, p, s) <= 0.025)
				n++;
			double wanted = (double)n * (double)sizes[i];
			struct bp_interval bytes = bp_estimate_bytes(&sums, 100000, 0.05);
			expect_near("bytes", bytes.low, wanted, 1e-11);
			struct bp_interval objects =
				bp_estimate_objects(&sums, 100000, 0.05, sizes[i], 0);
			expect_near("objects", objects.low, n, 1e-11);
			/* Without that knowledge: lower, by less than one object. */
			sums.single_size = false;
			double real = bp_estimate_bytes(&sums, 100000, 0.05).low;
			assert_true(real <= wanted && real > wanted - (double)sizes[i]);
		}
}

/* The caller's word does not stand against the samples. */
static void test_mixed_samples_are_not_one_size(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	add(&sums, 3, 40000, 65536);
	add(&sums, 4, 30000, 65536);
	double low = bp_estimate_bytes(&sums, 65536, 0.05).low;
	sums.single_size = true;
	assert_true(bp_estimate_bytes(&sums, 65536, 0.05).low == low);
}

/* Two intervals in force: values computed with 40 digits, quoted in docs/statistics.md. */
static void test_mixed_intervals(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	add(&sums, 4, 92160, 102400);
	add(&sums, 3, 92160, 204800);
	assert_true(sums.mixed);
	struct bp_interval bytes = bp_estimate_bytes(&sums, 204800, 0.05);
	expect_near("low", bytes.low, 745312.683844, 1e-11);
	expect_near("high", bytes.high, 2661073.07410, 1e-11);
	struct bp_interval objects = bp_estimate_objects(&sums, 204800, 0.05, 16, 0);
	expect_near("low", objects.low, 8.08716019796, 1e-11);
	expect_near("high", objects.high, 47234.4063539, 1e-11);
}

/* Plain Bernoulli samples of 8 T: N3 as it stands, whose upper limit is too low there (the value of
 * the method by size classes is 82769192.2); it must be marked. */
static void test_bernoulli_is_marked(void **state)
{
	(void)state;
	struct bp_sums sums = { 0 };
	add(&sums, 100, 819200, 102400);
	assert_true(sums.bernoulli);
	struct bp_interval bytes = bp_estimate_bytes(&sums, 102400, 0.05);
	expect_near("high", bytes.high, 82578375.6302, 1e-11);
	struct bp_sums mix = { 0 };
	add(&mix, 3, 30720, 102400);
	add(&mix, 1, 614400, 102400);
	add(&mix, 9, 819200, 102400);
	expect_near("low", bp_estimate_bytes(&mix, 102400, 0.05).low, 8112372.5184, 1e-11);
	struct bp_sums many = { 0 };
	add(&many, 40, 153600, 102400);
	add(&many, 12, 307200, 102400);
	add(&many, 6, 614400, 102400);
	add(&many, 25, 1024, 102400);
	static const double lows[][2] = { { 0.05, 16527680.4356 }, { 0.01, 16129901.5448 },
		{ 0.002, 15819088.247 } };
	for (size_t i = 0; i < BP_COUNT(lows); i++)
		expect_near(
			"low", bp_estimate_bytes(&many, 102400, lows[i][0]).low, lows[i][1], 1e-11);
}

/* With no sample the only thing known of the values is the largest ratio that can occur. */
static void test_values(void **state)
{
	(void)state;
	struct bp_sums none = { 0 }, sums = { 0 };
	double bytes = bp_estimate_bytes(&none, 4096, 0.05).high;
	expect_near("unseen", bp_estimate_values(&none, 4096, 24, 0.05).high, 24 * bytes, 1e-13);
	bp_sums_add(&sums, 40, 33, 1, 4096, false);
	struct bp_interval usable = bp_estimate_values(&sums, 4096, 24, 0.05);
	expect_near("estimate", usable.estimate, 40 / bp_inclusion_probability(34, 4096), 1e-13);
	assert_true(usable.high > bp_estimate_bytes(&sums, 4096, 0.05).high);
	/* The ratio seen is believed, even where the caller gave a smaller one. */
	assert_true(bp_estimate_values(&sums, 4096, 0.5, 0.05).high ==
		    bp_estimate_values(&sums, 4096, 40.0 / 34, 0.05).high);
}

/* A one-sided limit of error a is the two-sided one of 2 a; narrower error, wider interval. */
static void test_nesting(void **state)
{
	(void)state;
	static const double alphas[] = { 0.999, 0.5, 0.2, 0.05, 0.01, 1e-4, 1e-9 };
	struct bp_sums sums = { 0 };
	add(&sums, 3, 64, 65536);
	add(&sums, 2, 40000, 65536);
	struct bp_interval before = { 0 };
	for (size_t i = 0; i < BP_COUNT(alphas); i++) {
		struct bp_interval now = bp_estimate_bytes(&sums, 65536, alphas[i]);
		assert_true(now.low <= now.estimate && now.estimate <= now.high);
		if (i > 0)
			assert_true(now.low <= before.low && now.high > before.high);
		before = now;
	}
}

/* Many keys of all kinds: limits in order, finite, and never below what was seen. */
static void test_order(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 0, 1, 16, 1000, 65000, 65535, 65536, 200000, 50000000,
		UINT64_MAX };
	for (unsigned mask = 1; mask < 1U << BP_COUNT(sizes); mask++)
		for (int exact = 0; exact < 2; exact++) {
			struct bp_sums sums = { 0 };
			for (unsigned i = 0; i < BP_COUNT(sizes); i++)
				for (unsigned j = 0; mask >> i & 1 && j < 1 + i % 3; j++)
					bp_sums_add(&sums, (double)sizes[i], sizes[i], 1, 65536,
						exact && bp_trials(sizes[i], 1) >= 65536);
			struct bp_interval bytes = bp_estimate_bytes(&sums, 65536, 0.05);
			struct bp_interval objects = bp_estimate_objects(&sums, 65536, 0.05, 0, 1);
			assert_true(sums.bytes <= bytes.low && bytes.low <= bytes.estimate);
			assert_true(bytes.estimate <= bytes.high && isfinite(bytes.high));
			assert_true((double)sums.samples <= objects.low);
			assert_true(objects.low <= objects.estimate);
			assert_true(objects.estimate <= objects.high && isfinite(objects.high));
		}
}

static void test_total(void **state)
{
	(void)state;
	struct bp_interval exact = bp_interval_of_total(1000, 1000);
	assert_true(exact.exact && !exact.unknown && exact.low == 1000 && exact.estimate == 1000);
	struct bp_interval killed = bp_interval_of_total(1000, 2000);
	assert_true(!killed.exact && killed.unknown && isnan(killed.estimate));
	assert_true(killed.low == 1000 && killed.high == 2000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_sample),
		cmocka_unit_test(test_largest_interval),
		cmocka_unit_test(test_only_exact_samples),
		cmocka_unit_test(test_everything_taken),
		cmocka_unit_test(test_one_size_is_clopper_pearson),
		cmocka_unit_test(test_mixed_samples_are_not_one_size),
		cmocka_unit_test(test_mixed_intervals),
		cmocka_unit_test(test_bernoulli_is_marked),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_total),
	};
	return cmocka_run_group_tests_name("estimate interval", tests, NULL, NULL);
}
