/* SPDX-License-Identifier: MIT */
/*
 * Gaps: the logarithm and the scale against libm in long double, the law of the gaps against the
 * exact geometric one.
 *
 * False alarms, were the seeds not fixed: each chi-square rejects a correct sampler with
 * probability 1e-9; each mean with 2e-9 (|z| >= 6). The comparison with libm has none: it is
 * arithmetic. The last test plants errors that the chi-square must see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "goodness.h"
#include "sampler/gap.h"
#include "sampler/prng.h"

#define ERROR_MAX 4e-16L

static long double log_error_max;

static void check_log(double u)
{
	const long double truth = -logl((long double)u);
	const double got = bp_negative_log(u);
	if (u == 1) {
		assert_true(got == 0);
		return;
	}
	const long double error = fabsl(((long double)got - truth) / truth);
	if (error > log_error_max)
		log_error_max = error;
	if (!(error < ERROR_MAX))
		fail_msg("u = %a: relative error %Lg", u, error);
}

static void negative_log(void **state)
{
	uint64_t random[4];
	(void)state;
	bp_random_seed(random, 1);
	for (int i = 0; i < 2000000; i++)
		check_log((double)((bp_random_next(random) >> 11) + 1) * 0x1p-53);
	for (int i = 0; i < 1000000; i++) /* near 1, where the logarithm vanishes */
		check_log(1 - (double)(bp_random_next(random) >> (11 + (i % 50))) * 0x1p-53);
	for (int i = 0; i < 1000000; i++) /* small u: long gaps */
		check_log((double)((bp_random_next(random) >> (12 + (i % 50))) + 1) * 0x1p-53);
	for (int e = -53; e <= 0; e++) { /* around powers of two and where the series switches */
		check_log(ldexp(1, e));
		for (int i = 1; i < 2000; i++) {
			check_log(ldexp(1 - i * 0x1p-53, e));
			if (e < 0)
				check_log(ldexp(1 + i * 0x1p-52, e));
			check_log(ldexp(0x1.6a09e667f3bcdp-1 + (i - 1000) * 0x1p-53, e));
		}
	}
	print_message("# largest relative error of the logarithm %.3Lg\n", log_error_max);
}

static void check_scale(uint64_t interval)
{
	const long double truth = -1 / log1pl(-1 / (long double)interval);
	const long double error = fabsl(((long double)bp_gap_scale(interval) - truth) / truth);
	if (!(error < ERROR_MAX))
		fail_msg("T = %llu: relative error %Lg", (unsigned long long)interval, error);
}

static void gap_scale(void **state)
{
	uint64_t random[4];
	(void)state;
	assert_true(bp_gap_scale(1) == 0);
	for (uint64_t interval = 2; interval < 300000; interval++)
		check_scale(interval);
	for (int shift = 1; shift <= 62; shift++)
		for (int i = -2; i <= 2; i++)
			if (((uint64_t)1 << shift) + (uint64_t)i >= 2)
				check_scale(((uint64_t)1 << shift) + (uint64_t)i);
	bp_random_seed(random, 2);
	for (int i = 0; i < 1000000; i++) {
		uint64_t interval = bp_random_next(random) >> (1 + i % 61);
		check_scale(interval < 2 ? 2 : interval);
	}
}

static void edges(void **state)
{
	static const uint64_t intervals[] = { 1, 2, 64, 4096, (uint64_t)512 << 10,
		(uint64_t)1 << 40 };
	(void)state;
	for (unsigned i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		const double scale = bp_gap_scale(intervals[i]);
		assert_true(bp_gap(UINT64_MAX, scale) == 0); /* U = 1 */
		const uint64_t longest = bp_gap(0, scale);   /* U = 2^-53 */
		assert_true((double)longest <= 36.8 * (double)intervals[i]);
		assert_true(intervals[i] == 1
				    ? longest == 0
				    : (double)longest >= 36.7 * (double)(intervals[i] - 1));
	}
}

static const uint64_t law_intervals[] = { 2, 64, 200, 102400 };

/* Draws with the scale of `interval` times `factor`, against the law of `interval`. */
static double tail_of_gaps(uint64_t interval, double factor, uint64_t seed, int draws)
{
	struct cells cells;
	uint64_t random[4];
	const double scale = bp_gap_scale(interval) * factor;
	bp_random_seed(random, seed);
	cells_of_geometric(&cells, interval, 0, 0.01);
	assert_true(cells.count >= 5);
	for (int i = 0; i < draws; i++)
		cells_add(&cells, bp_gap(bp_random_next(random), scale));
	return cells_tail(&cells);
}

static void law(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		double tail = tail_of_gaps(law_intervals[i], 1, 100 + i, 2000000);
		print_message("# T = %llu: p = %.3g\n", (unsigned long long)law_intervals[i], tail);
		assert_true(tail > 1e-9);
	}
}

static void mean(void **state)
{
	const char *wish = getenv("BYTEPOLL_LONG_TESTS");
	const int draws = wish != NULL && wish[0] != '\0' && wish[0] != '0' ? 100000000 : 3000000;
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		const double interval = (double)law_intervals[i];
		const double scale = bp_gap_scale(law_intervals[i]);
		uint64_t random[4], sum = 0;
		bp_random_seed(random, 200 + i);
		for (int n = 0; n < draws; n++)
			sum += bp_gap(bp_random_next(random), scale);
		/* Mean T - 1, variance T (T - 1). */
		double z = ((double)sum / draws - (interval - 1)) /
			   sqrt(interval * (interval - 1) / draws);
		print_message("# T = %.0f: %d draws, z = %+.2f\n", interval, draws, z);
		assert_true(fabs(z) < 6);
	}
}

/* A scale that is wrong by one per cent is found; so is a gap of one too many. */
static void planted_errors(void **state)
{
	struct cells cells;
	uint64_t random[4];
	(void)state;
	assert_true(tail_of_gaps(64, 1.01, 300, 2000000) < 1e-9);
	assert_true(tail_of_gaps(102400, 0.99, 301, 2000000) < 1e-9);
	bp_random_seed(random, 302);
	cells_of_geometric(&cells, 64, 0, 0.01);
	for (int i = 0; i < 100000; i++)
		cells_add(&cells, 1 + bp_gap(bp_random_next(random), bp_gap_scale(64)));
	assert_true(cells_tail(&cells) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(negative_log),
		cmocka_unit_test(gap_scale),
		cmocka_unit_test(edges),
		cmocka_unit_test(law),
		cmocka_unit_test(mean),
		cmocka_unit_test(planted_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
