/* SPDX-License-Identifier: MIT */
/*
 * The weights inside the target against libm's, over intervals and sizes of every order, and what
 * they are for: probability times amount is the size. Nothing is drawn.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/amount.h"

static double expected(uint64_t trials, uint64_t interval)
{
	return interval <= 1 ? 1 : -expm1((double)trials * log1p(-1 / (double)interval));
}

static void against_libm(void **state)
{
	(void)state;
	double worst = 0;
	for (uint64_t interval = 2; interval < (uint64_t)1 << 56; interval += interval / 3 + 1)
		for (uint64_t trials = 1; trials < (uint64_t)1 << 60; trials += trials / 5 + 1) {
			const double wanted = expected(trials, interval);
			const double error = fabs(bp_inclusion(trials, interval) / wanted - 1);
			worst = error > worst ? error : worst;
		}
	print_message("# largest relative error %.2g\n", worst);
	assert_true(worst < 1e-14);
}

static void edges(void **state)
{
	(void)state;
	assert_true(bp_inclusion(0, 1000) == 0);
	assert_true(bp_inclusion(1, 1) == 1);
	assert_true(bp_inclusion(UINT64_MAX, 2) == 1);
	assert_true(fabs(bp_inclusion(1, 2) - 0.5) < 1e-15);
	assert_true(fabs(bp_inclusion(1, 1u << 20) * (1u << 20) - 1) < 1e-14);
	assert_int_equal(bp_amount_bytes(0, 1, 4096, false), 0);
	assert_int_equal(bp_amount_bytes(77, 1, 1, false), 77);
	assert_int_equal(bp_amount_bytes(77, 1, 1u << 20, true), 77);
	/* A thousand intervals long, by trial: as good as certain. */
	assert_int_equal(bp_amount_bytes(4096000, 1, 4096, false), 4096000);
	/* One byte and no charge: one trial of probability 1/T stands for T bytes. */
	assert_int_equal(bp_amount_bytes(1, 0, 524288, false), 524288);
	/* Cannot overflow: the largest interval, the largest size. */
	assert_true(bp_amount_bytes(1, 0, (uint64_t)1 << 56, false) == (uint64_t)1 << 56);
	assert_true(bp_amount_bytes((uint64_t)1 << 63, 1, (uint64_t)1 << 56, false) <=
		    (uint64_t)1 << 63);
}

/* To within half a byte, which is what rounding takes. */
static void unbiased(void **state)
{
	(void)state;
	for (uint64_t interval = 2; interval <= (uint64_t)1 << 40; interval *= 2)
		for (uint64_t size = 1; size <= 4 * interval; size = size * 2 + 1) {
			const double p = expected(size + 1, interval);
			const double mean = p * (double)bp_amount_bytes(size, 1, interval, false);
			assert_true(fabs(mean - (double)size) <= 0.5 * p + 1e-13 * (double)size);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_libm),
		cmocka_unit_test(edges),
		cmocka_unit_test(unbiased),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
