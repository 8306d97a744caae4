/* SPDX-License-Identifier: MIT */
/*
 * How the estimators of the field relate, without chance: for small T and m every position of the
 * first success, and every number of further ones, is summed with its probability.
 *
 * Means, variances, the order of the variances and the bounds of the papers, the ratios of standard
 * deviations that docs/statistics.md prints, TCMalloc's forms, memray's rule, thinning. Only the
 * draw of the hits has chance in it: it is held to the binomial law by chi-square in 12 cases and
 * its mean and variance to |z| < 6 in 3, each of which a correct draw fails with probability 1e-9
 * or 2e-9; its seeds are 1, 2, 3 ...
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/estimate.h"
#include "estimate/numeric/special.h"
#include "estimate/weighting.h"
#include "weights_in_theory.h"

static const uint64_t intervals[] = { 2, 3, 7, 50 };
static const uint64_t trials_max = 64;

static void expect_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-11 * fabs(wanted)))
		fail_msg("%.17g, not %.17g", value, wanted);
}

/* P(first success after `offset` failures). */
static double probability_of_offset(uint64_t offset, uint64_t interval)
{
	double p = 1 / (double)interval;
	return p * pow(1 - p, (double)offset);
}

/* Moments of the weight of a sample whose success is at `offset`, over the hits that are drawn. */
struct moments {
	double mean, square;
};

static struct moments weight_at(
	enum bp_weighting weighting, uint64_t trials, uint64_t interval, uint64_t offset)
{
	if (weighting != BP_WEIGHTING_HITS) {
		double weight = bp_weighting_of(weighting, trials, interval, offset, false, 1);
		return (struct moments){ weight, weight * weight };
	}
	/* T (1 + h) / m, h of Bin(m - 1 - f, p). */
	double p = 1 / (double)interval, rest = (double)(trials - 1 - offset);
	double probability = pow(1 - p, rest);
	struct moments moments = { 0, 0 };
	for (double h = 0; h <= rest; h++) {
		double weight = (double)interval * (1 + h) / (double)trials;
		moments.mean += probability * weight;
		moments.square += probability * weight * weight;
		probability *= (rest - h) / (h + 1) * p / (1 - p);
	}
	return moments;
}

/* Rao and Blackwell: the mean of every weight over the positions, given that the object was
 * sampled, is 1 / pi, and the variance over all objects is weighting_variance. */
static void test_means_and_variances(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(intervals); i++)
		for (uint64_t m = 1; m <= trials_max; m++)
			for (int w = BP_WEIGHTING_HT; w <= BP_WEIGHTING_HITS; w++) {
				double pi = 1 - pow(1 - 1 / (double)intervals[i], (double)m);
				double mean = 0, square = 0;
				for (uint64_t f = 0; f < m; f++) {
					struct moments at = weight_at(w, m, intervals[i], f);
					double p = probability_of_offset(f, intervals[i]);
					mean += p * at.mean;
					square += p * at.square;
				}
				expect_near(mean / pi, 1 / pi);
				double variance = weighting_variance(w, m, intervals[i], false);
				if (!(fabs(square - 1 - variance) <= 1e-11 * square))
					fail_msg("T %u m %u: variance %.15g, not %.15g",
						(unsigned)intervals[i], (unsigned)m, variance,
						square - 1);
			}
}

/* The formulas of the table, in trials^2. */
static void test_formulas(void **state)
{
	(void)state;
	static const uint64_t large[] = { 2, 64, 102400, 524288 };
	for (size_t i = 0; i < BP_COUNT(large); i++)
		for (uint64_t m = 1; m < UINT64_C(1) << 24; m = 3 * m + 1) {
			double t = (double)large[i], k = (double)m, p = 1 / t, q = 1 - p;
			double pi = bp_inclusion_probability(m, large[i]);
			double ht = weighting_variance(BP_WEIGHTING_HT, m, large[i], false);
			double failed =
				weighting_variance(BP_WEIGHTING_FAILED_TRIALS, m, large[i], false);
			double hits = weighting_variance(BP_WEIGHTING_HITS, m, large[i], false);
			expect_near(ht * pi, exp(-bp_lambda(large[i]) * k));
			expect_near(failed * k * k, q * pi / (p * p));
			expect_near(hits * k * k, t * t * k * p * q);
			/* The order, and the bounds: an object adds at most k q/p to Var N^
			 * (equal for one byte); T^2 - T times the expected samples; at most T M. */
			double slack = 1 + 1e-12;
			assert_true(ht <= failed * slack && failed <= hits * slack);
			assert_true(ht * k * k <= k * q / p * slack);
			assert_true(failed * k * k <= (t * t - t) * pi * slack);
			assert_true((t * t - t) * pi <= t * k * slack);
			assert_true(hits * k * k < t * k);
			if (m == 1) {
				expect_near(ht, q / p);
				expect_near(failed, ht);
				expect_near(hits, ht);
			}
		}
}

/* The table of standard deviations relative to Horvitz-Thompson, by size. */
static void test_ratios_of_deviations(void **state)
{
	(void)state;
	static const struct {
		double x, failed, hits;
	} rows[] = { { .01, 1.000, 1.003 }, { .1, 1.000, 1.026 }, { .5, 1.010, 1.139 },
		{ 1, 1.042, 1.311 }, { 2, 1.175, 1.787 }, { 3, 1.420, 2.52 }, { 5, 2.42, 5.43 },
		{ 8, 6.82, 19.3 } };
	const uint64_t interval = 10000000;
	for (size_t i = 0; i < BP_COUNT(rows); i++) {
		uint64_t m = (uint64_t)llround(rows[i].x * (double)interval);
		double ht = weighting_variance(BP_WEIGHTING_HT, m, interval, false);
		double failed = sqrt(
			weighting_variance(BP_WEIGHTING_FAILED_TRIALS, m, interval, false) / ht);
		double hits = sqrt(weighting_variance(BP_WEIGHTING_HITS, m, interval, false) / ht);
		double unit = rows[i].hits > 10 ? 0.1 : rows[i].hits > 2 ? 0.01 : 0.001;
		double unit_failed = rows[i].failed > 2 ? 0.01 : 0.001;
		/* In closed form, and to the digits that are printed. */
		assert_true(fabs(failed - 2 * sinh(rows[i].x / 2) / rows[i].x) < 1e-5 * failed);
		assert_true(fabs(hits - sqrt(expm1(rows[i].x) / rows[i].x)) < 1e-5 * hits);
		assert_true(fabs(failed - rows[i].failed) <= 0.51 * unit_failed);
		assert_true(fabs(hits - rows[i].hits) <= 0.51 * unit);
	}
}

/* TCMalloc counts the position f from 1: T + m - f. To a usable bytes it scales by a/(r + 1). */
static void test_tcmalloc(void **state)
{
	(void)state;
	const uint64_t interval = 2 << 20, requested = 1000, usable = 1024, m = requested + 1;
	for (uint64_t position = 1; position <= m; position++) {
		uint64_t failures = position - 1;
		double weight = bp_weighting_of(
			BP_WEIGHTING_FAILED_TRIALS, m, interval, failures, false, 0);
		double tcmalloc = (double)(interval + m - position);
		expect_near(weight * (double)m, tcmalloc);
		expect_near(weight * (double)usable,
			(double)usable / (double)(requested + 1) * tcmalloc);
		/* .NET's approach 2 from the same sample: q/p + u. */
		double p = 1 / (double)interval, u = (double)(m - failures);
		expect_near(weight * (double)m, (1 - p) / p + u);
	}
}

static void test_memray(void **state)
{
	(void)state;
	for (uint64_t m = 1; m < 200; m++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			double memray =
				bp_weighting_of(BP_WEIGHTING_MEMRAY, m, 100, 0, false, seed);
			double hits = bp_weighting_of(BP_WEIGHTING_HITS, m, 100, 0, false, seed);
			assert_true(memray == (m < 100 ? hits : 1));
		}
	for (uint64_t m = 1; m < 200; m++) {
		double memray = weighting_variance(BP_WEIGHTING_MEMRAY, m, 100, m >= 100);
		double hits = weighting_variance(BP_WEIGHTING_HITS, m, 100, false);
		assert_true(memray == (m < 100 ? hits : 0));
		assert_true(memray == weighting_variance(BP_WEIGHTING_MEMRAY, m, 100, false));
	}
}

/* What was taken with certainty, or at T = 1, weighs 1. */
static void test_exact(void **state)
{
	(void)state;
	for (int w = 0; w < BP_WEIGHTING_COUNT; w++) {
		assert_true(bp_weighting_of(w, 5000, 4096, 0, true, 9) == 1);
		assert_true(weighting_variance(w, 5000, 4096, true) == 0);
		for (uint64_t m = 1; m < 20; m++) {
			assert_true(bp_weighting_of(w, m, 1, 0, false, m) == 1);
			assert_true(weighting_variance(w, m, 1, false) == 0);
		}
	}
}

static double binomial_probability(uint64_t n, double p, uint64_t k)
{
	return exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
		   (double)k * log(p) + (double)(n - k) * log1p(-p));
}

/* P(chi-square as large), of `draws` draws of hits with `rest` trials left; cells of 20 and more
 * expected, from the left. */
static double tail_of_draws(uint64_t rest, uint64_t interval, unsigned draws)
{
	static double seen[4096];
	double square = 0, cell_seen = 0, cell_due = 0, before = 0;
	unsigned cells = 0, last = 0;
	for (size_t i = 0; i < BP_COUNT(seen); i++)
		seen[i] = 0;
	for (uint64_t seed = 1; seed <= draws; seed++) {
		uint64_t hits = bp_draw_hits(rest + 4, 3, interval, seed);
		assert_in_range(hits, 1, rest + 1);
		assert_true(hits <= BP_COUNT(seen));
		seen[hits - 1]++;
		last = hits > last ? (unsigned)hits : last;
	}
	for (uint64_t k = 0; k <= rest && k < BP_COUNT(seen); k++) {
		cell_seen += seen[k];
		cell_due += draws * binomial_probability(rest, 1 / (double)interval, k);
		bool open = draws - before - cell_due < 20 || k == rest;
		if (cell_due < 20 && !open)
			continue;
		if (open) { /* the last cell takes all that is left */
			while (++k < last)
				cell_seen += seen[k];
			cell_due = draws - before;
		}
		square += (cell_seen - cell_due) * (cell_seen - cell_due) / cell_due;
		before += cell_due;
		cell_seen = cell_due = 0;
		cells++;
		if (open)
			break;
	}
	double tail = bp_gamma_q((cells - 1) / 2.0, square / 2);
	print_message("# %g trials at T = %g: %u cells, P = %.3g\n", (double)rest, (double)interval,
		cells, tail);
	return tail;
}

static void test_law_of_hits(void **state)
{
	(void)state;
	static const struct {
		uint64_t rest, interval;
	} cases[] = { { 1, 2 }, { 19, 2 }, { 20, 2 }, { 100, 2 }, { 3, 3 }, { 1000, 3 },
		{ 50000, 102400 }, { 1023999, 102400 }, { 1024000, 102400 }, { 1100000, 102400 },
		{ 10240024, 102400 }, { UINT64_C(1) << 29, 524288 } };
	for (size_t i = 0; i < BP_COUNT(cases); i++)
		assert_true(tail_of_draws(cases[i].rest, cases[i].interval, 100000) > 1e-9);
}

/* Means of a million and beyond: mean and variance of 20,000 draws, |z| < 6; and no endless loop at
 * sizes that only a damaged file has. */
static void test_many_hits(void **state)
{
	(void)state;
	static const uint64_t rests[] = { UINT64_C(524288) * 1000000, UINT64_C(1) << 52,
		UINT64_C(1) << 60 };
	const unsigned draws = 20000;
	for (size_t i = 0; i < BP_COUNT(rests); i++) {
		double n = (double)rests[i], p = 1.0 / 524288, sum = 0, squares = 0;
		double deviation = sqrt(n * p * (1 - p));
		for (uint64_t seed = 1; seed <= draws; seed++) {
			double hits = (double)bp_draw_hits(rests[i] + 1, 0, 524288, seed) - 1;
			double z = (hits - n * p) / deviation;
			sum += z;
			squares += z * z;
		}
		assert_true(fabs(sum / sqrt(draws)) < 6);
		assert_true(fabs(squares - draws) / sqrt(2.0 * draws) < 6);
	}
	assert_true(bp_draw_hits(UINT64_MAX, 0, 2, 7) > UINT64_MAX / 2 - (UINT64_C(1) << 40));
	assert_true(bp_draw_hits(UINT64_MAX, UINT64_MAX - 1, 2, 7) == 1);
	assert_true(bp_draw_hits(UINT64_MAX, 0, 1, 7) == UINT64_MAX);
}

/* The same arguments, the same hits; other seeds, others. */
static void test_seed(void **state)
{
	(void)state;
	unsigned changes = 0;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		uint64_t hits = bp_draw_hits(10240024, 5, 102400, seed);
		assert_int_equal(hits, bp_draw_hits(10240024, 5, 102400, seed));
		expect_near(bp_weighting_of(BP_WEIGHTING_HITS, 10240024, 102400, 5, false, seed),
			102400 * (double)hits / 10240024);
		changes += hits != bp_draw_hits(10240024, 5, 102400, seed + 1);
	}
	assert_in_range(changes, 900, 1000);
}

/* Taking every object of a size exactly pays from .715 T on, at equal numbers of samples. */
static void test_threshold(void **state)
{
	(void)state;
	double low = 0.1, high = 2;
	for (int i = 0; i < 60; i++) {
		double x = (low + high) / 2;
		if (x * x < -expm1(-x))
			low = x;
		else
			high = x;
	}
	assert_true(fabs(low - 0.715) < 0.0005);
}

/* Kept with this chance, a sample of T has that of T'. */
static void test_thinning(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 17, 99, 100, 101, 250, 399, 400, 401, 5000 };
	for (size_t i = 0; i < BP_COUNT(sizes); i++)
		for (uint64_t from = 1; from <= 400; from = from < 100 ? from + 33 : 2 * from)
			for (uint64_t to = from; to <= 800; to += 50)
				for (int law = 0; law < 2; law++) {
					uint64_t m = sizes[i];
					double pi = law && m >= from
							    ? 1
							    : bp_inclusion_probability(m, from);
					double kept = law && m >= to
							      ? 1
							      : bp_inclusion_probability(m, to);
					double keep = thinning_keep_probability(m, from, to, law);
					expect_near(pi * keep, kept);
					assert_true(keep > 0 && keep <= 1);
					/* By way of any T between, the same. */
					uint64_t middle = (from + to) / 2;
					expect_near(
						thinning_keep_probability(m, from, middle, law) *
							thinning_keep_probability(
								m, middle, to, law),
						keep);
				}
	/* Exact at 100, and not at 400. */
	expect_near(thinning_keep_probability(200, 100, 400, true), 1 - pow(1 - 1 / 400.0, 200));
	assert_true(thinning_keep_probability(400, 100, 400, true) == 1);
	assert_true(thinning_keep_probability(400, 100, 400, false) < 0.65);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_means_and_variances),
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_ratios_of_deviations),
		cmocka_unit_test(test_tcmalloc),
		cmocka_unit_test(test_memray),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_law_of_hits),
		cmocka_unit_test(test_many_hits),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_thinning),
	};
	return cmocka_run_group_tests_name("estimate weighting", tests, NULL, NULL);
}
