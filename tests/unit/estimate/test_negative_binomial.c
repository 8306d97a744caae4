/* SPDX-License-Identifier: MIT */
/*
 * The negative binomial interval: its law against sums, the convention of its quantile and what the
 * .NET document says of it, its worked example and edges, and Camp and Paulson's approximation: the
 * accuracy that was claimed for it, and the tail where it misleads. The published table itself is
 * rows of test_values.c.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/numeric/negative_binomial.h"
#include "estimate/numeric/special.h"

#define DOTNET_INTERVAL UINT64_C(102400)

static const enum bp_negative_binomial exact = BP_NEGATIVE_BINOMIAL_EXACT,
				       camp_paulson = BP_NEGATIVE_BINOMIAL_CAMP_PAULSON;

/* The rows of the document's table. */
static const uint64_t table_successes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 100, 200,
	300, 400, 500, 1000, 2000, 3000, 4000, 5000, 10000 };

static double quantile(
	enum bp_negative_binomial method, double probability, uint64_t successes, uint64_t interval)
{
	return bp_negative_binomial_quantile(method, probability, successes, interval);
}

static double cdf(
	enum bp_negative_binomial method, double failures, uint64_t successes, uint64_t interval)
{
	return bp_negative_binomial_cdf(method, failures, (double)successes, interval);
}

/* P(X = x) = C(x + s - 1, x) p^s q^x, summed. */
static void test_law(void **state)
{
	(void)state;
	static const uint64_t intervals[] = { 2, 3, 10, 64 };
	for (size_t i = 0; i < BP_COUNT(intervals); i++)
		for (uint64_t s = 1; s <= 40; s += 3) {
			double p = 1 / (double)intervals[i], q = 1 - p;
			double term = pow(p, (double)s), sum = 0;
			for (unsigned x = 0; x < 2000; x++) {
				sum += term;
				term *= q * (double)(x + s) / (x + 1);
				assert_true(fabs(cdf(exact, x, s, intervals[i]) - sum) < 1e-12);
			}
		}
	assert_true(cdf(exact, -1, 3, 10) == 0);
	assert_true(cdf(exact, 2.9, 3, 10) == cdf(exact, 2, 3, 10));
	for (int method = 0; method < 2; method++) {
		assert_true(bp_negative_binomial_cdf(method, 0, 0, 10) == 1);
		assert_true(bp_negative_binomial_cdf(method, 0, 5, 1) == 1);
	}
}

/* P(X <= x) < probability <= P(X <= x + 1), by the smaller tail: a far upper tail keeps its digits.
 */
static void test_convention(void **state)
{
	(void)state;
	static const double probabilities[] = { 1e-6, 0.005, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9995 };
	static const uint64_t successes[] = { 1, 2, 3, 8, 50, 1000, 100000 };
	static const uint64_t intervals[] = { 2, 3, 100, 102400, 524288 };
	unsigned zeros = 0;
	for (size_t i = 0; i < BP_COUNT(probabilities); i++)
		for (size_t j = 0; j < BP_COUNT(successes); j++)
			for (size_t k = 0; k < BP_COUNT(intervals); k++) {
				uint64_t s = successes[j], interval = intervals[k];
				double p = probabilities[i], x = quantile(exact, p, s, interval);
				assert_true(x >= 0 && x == floor(x));
				zeros += x == 0;
				assert_true(x == 0 || cdf(exact, x, s, interval) < p);
				assert_true(cdf(exact, x + 1, s, interval) >= p ||
					    (x == 0 && cdf(exact, x, s, interval) >= p));
			}
	assert_in_range(zeros, 1, 40);
	/* One success: P(X > x) = q^(x + 1), so x is the last whole number below
	 * ln(tail)/ln(q) - 1. In its far tail 1 - P would have no digit. */
	for (int i = 1; i <= 45; i++) {
		double root = i * log(2) / bp_lambda(102400) - 1;
		assert_true(quantile(exact, 1 - ldexp(1, -i), 1, 102400) == ceil(root) - 1);
	}
}

/* The document says "closest": that fits 12 and 7 of its 25 rows. The rule of quantile() fits all
 * (test_values.c); the gamma form is within 1.5 of it. */
static void test_rounding_of_the_table(void **state)
{
	(void)state;
	static const double probabilities[] = { 0.025, 0.975 };
	static const int closest_fits[] = { 12, 7 };
	for (size_t column = 0; column < BP_COUNT(probabilities); column++) {
		double p = probabilities[column];
		int fits = 0;
		for (size_t i = 0; i < BP_COUNT(table_successes); i++) {
			uint64_t s = table_successes[i];
			double x = quantile(exact, p, s, DOTNET_INTERVAL);
			double below = p - cdf(exact, x, s, DOTNET_INTERVAL);
			double above = cdf(exact, x + 1, s, DOTNET_INTERVAL) - p;
			assert_true(below > 0 && above >= 0);
			fits += below <= above;
			double gamma =
				bp_gamma_p_inverse(p, (double)s) / bp_lambda(DOTNET_INTERVAL);
			assert_true(fabs(gamma - (double)s / 2 - x) <= 1.5);
		}
		assert_int_equal(fits, closest_fits[column]);
	}
}

static struct bp_interval interval_of(
	enum bp_window_edges edges, uint64_t samples, double after_hits, double alpha)
{
	return bp_estimate_negative_binomial(
		exact, edges, samples, after_hits, DOTNET_INTERVAL, alpha);
}

/* The document's example: 8 samples, 10908 bytes from their sampled bytes on. */
static void test_example_and_edges(void **state)
{
	(void)state;
	struct bp_interval at = interval_of(BP_EDGES_AT_SAMPLES, 8, 10908, 0.05);
	struct bp_interval end = interval_of(BP_EDGES_END, 8, 10908, 0.05);
	struct bp_interval both = interval_of(BP_EDGES_BOTH, 8, 10908, 0.05);
	assert_true(at.low == 364574 && at.high == 1487778 && at.estimate == 830100);
	assert_true(end.low == 364574 && end.high == 1625045 && end.estimate == 830100);
	assert_true(both.low == 288185 + 10908 && both.high == 1625045 && both.estimate == 830100);
	assert_false(at.exact || at.unknown || end.exact || both.exact);
	/* Without a sample the plain form is [0, 0], which is why it fails a fixed window; with
	 * s + 1 the upper limit is the first table row. */
	at = interval_of(BP_EDGES_AT_SAMPLES, 0, 0, 0.05);
	assert_true(at.low == 0 && at.high == 0 && at.estimate == 0 && !at.exact);
	end = interval_of(BP_EDGES_END, 0, 0, 0.05);
	assert_true(end.low == 0 && end.high == 377738 && end.estimate == 0);
	both = interval_of(BP_EDGES_BOTH, 1, 7, 0.05);
	assert_true(both.low == 7 && both.high == 570531 + 7);
	both = interval_of(BP_EDGES_BOTH, 0, 0, 0.05);
	assert_true(both.low == 0 && both.high == 377738);
}

static void test_interval_holds_its_estimate(void **state)
{
	(void)state;
	for (int edges = BP_EDGES_AT_SAMPLES; edges <= BP_EDGES_BOTH; edges++)
		for (uint64_t s = 0; s < 40; s++)
			for (double alpha = 0.02; alpha < 1; alpha += 0.07) {
				struct bp_interval interval = interval_of(edges, s, 100, alpha);
				assert_true(interval.low <= interval.estimate &&
					    interval.estimate <= interval.high);
			}
	/* T = 1: no trial failed. */
	struct bp_interval all =
		bp_estimate_negative_binomial(exact, BP_EDGES_END, 9, 4096, 1, 0.05);
	assert_true(all.exact && all.low == 4096 && all.high == 4096 && all.estimate == 4096);
}

/* Far outside any profile: the search still ends, where the normal law says. */
static void test_many_successes(void **state)
{
	(void)state;
	for (int exponent = 3; exponent <= 12; exponent += 3) {
		double s = pow(10, exponent), t = 524288, sd = sqrt(s * t * (t - 1));
		double x = quantile(exact, 0.975, (uint64_t)s, (uint64_t)t);
		double z = (x - s * (t - 1)) / sd;
		/* Cornish and Fisher's next term: (z^2 - 1)/6 times the skewness 2/sqrt(s). */
		assert_true(fabs(z - 1.959963985 - 0.947 / sqrt(s)) < 3 / s + 1e-6);
	}
}

static void test_camp_paulson_values(void **state)
{
	(void)state;
	static const struct {
		double failures;
		uint64_t successes;
		double probability;
	} values[] = { { 2591, 1, 0.0370636659 }, { 353666, 8, 0.0253327453 },
		{ 1476870, 8, 0.9749917749 } };
	for (size_t i = 0; i < BP_COUNT(values); i++) {
		double value =
			cdf(camp_paulson, values[i].failures, values[i].successes, DOTNET_INTERVAL);
		assert_true(fabs(value - values[i].probability) < 1e-10);
	}
}

/* The largest error of the approximation as a probability, over all x. */
static double worst_error(uint64_t successes)
{
	double worst = 0;
	for (double x = 0; x < 102400.0 * (double)(successes + 40); x = floor(x * 1.002 + 1))
		worst = fmax(worst, fabs(cdf(camp_paulson, x, successes, DOTNET_INTERVAL) -
					    cdf(exact, x, successes, DOTNET_INTERVAL)));
	return worst;
}

/* As published: .0122 for one success, .0033 for 2, .00127 for 5, .0006 for 10. */
static void test_camp_paulson_accuracy(void **state)
{
	(void)state;
	assert_true(fabs(worst_error(1) - 0.0122) < 0.00005);
	assert_true(fabs(worst_error(2) - 0.0033) < 0.00005);
	assert_true(fabs(worst_error(5) - 0.00127) < 0.000005);
	assert_true(fabs(worst_error(10) - 0.0006) < 0.00005);
}

/* That error is small beside .5, and half of .025: in the tail that an interval uses, the lower
 * limit of one sample is 48 % too small, and its error is not 2.5 % but 1.3 %. */
static void test_camp_paulson_misleads(void **state)
{
	(void)state;
	static const struct {
		uint64_t successes;
		double deviation; /* of the 2.5 % quantile, relative */
	} rows[] = { { 1, -0.484 }, { 2, -0.0726 }, { 5, -0.0075 }, { 10, -0.0017 } };
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		uint64_t s = rows[i].successes;
		double ratio = quantile(camp_paulson, 0.025, s, DOTNET_INTERVAL) /
			       quantile(exact, 0.025, s, DOTNET_INTERVAL);
		assert_true(fabs(ratio - 1 - rows[i].deviation) < 0.0005);
	}
	double low = quantile(camp_paulson, 0.025, 1, DOTNET_INTERVAL);
	assert_true(fabs(cdf(exact, low, 1, DOTNET_INTERVAL) - 0.0130) < 0.00005);
	/* Above, it is harmless: .6 % at one sample. */
	double high = quantile(camp_paulson, 0.975, 1, DOTNET_INTERVAL);
	assert_true(fabs(high / 377738 - 1 + 0.0057) < 0.0001);
	/* It never says less than .0047 for one success: lower limits at a <= .0047 are 0. */
	assert_true(quantile(camp_paulson, 0.0025, 1, DOTNET_INTERVAL) == 0);
	assert_true(quantile(exact, 0.0025, 1, DOTNET_INTERVAL) == 256 - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law),
		cmocka_unit_test(test_convention),
		cmocka_unit_test(test_rounding_of_the_table),
		cmocka_unit_test(test_example_and_edges),
		cmocka_unit_test(test_interval_holds_its_estimate),
		cmocka_unit_test(test_many_successes),
		cmocka_unit_test(test_camp_paulson_values),
		cmocka_unit_test(test_camp_paulson_accuracy),
		cmocka_unit_test(test_camp_paulson_misleads),
	};
	return cmocka_run_group_tests_name("estimate negative binomial", tests, NULL, NULL);
}
