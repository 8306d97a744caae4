/* SPDX-License-Identifier: MIT */
/*
 * Weights inside the target, where there is no libm. With lambda = -log1p(-1/T), the rate at which
 * the gaps are drawn (gap.c), an object of m trials is sampled with probability
 *
 *   P = 1 - (1 - 1/T)^m = -expm1(-lambda m).
 *
 * -expm1(-x): x is halved until it is at most 1/4, where the alternating series needs no more than
 * 12 terms (what is left out is below (1/4)^12/13! = 1e-17 of the first), and doubled back by 1 -
 * e^(-2x) = y (2 - y) for y = 1 - e^(-x): sums and products of positive numbers, so that nothing
 * cancels for small x. Every doubling adds a relative rounding of 3 * 2^-53 at most; from 8
 * halvings on P is 1 to within a double anyway (e^-40), which is the cut.
 */
#include "sampler/amount.h"

#include "sampler/gap.h"

/* Beyond it 1 - e^-x is 1 in a double. */
#define EXPONENT_MAX 40.0

/* 1 - e^-x for x >= 0. */
static double complement_of_exponential(double x)
{
	int halvings = 0;
	if (x > EXPONENT_MAX)
		return 1;
	for (; x > 0.25; x /= 2)
		halvings++;
	double term = x, sum = x;
	for (int n = 2; n <= 12; n++) {
		term *= -x / n;
		sum += term;
	}
	for (; halvings > 0; halvings--)
		sum *= 2 - sum;
	return sum;
}

double bp_inclusion(uint64_t trials, uint64_t interval)
{
	const double scale = bp_gap_scale(interval);
	if (trials == 0)
		return 0;
	return scale <= 0 ? 1 : complement_of_exponential((double)trials / scale);
}

uint64_t bp_amount_bytes(uint64_t size, uint64_t charge, uint64_t interval, bool exact)
{
	if (exact || interval <= 1 || size == 0)
		return size;
	const double amount = (double)size / bp_inclusion(size + charge, interval);
	return amount < 0x1p63 ? (uint64_t)(amount + 0.5) : (uint64_t)1 << 63;
}
