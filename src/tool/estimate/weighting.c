/* SPDX-License-Identifier: MIT */
/*
 * What one sample weighs in each estimator of the field (docs/statistics.md, "Estimators and how
 * they relate").
 *
 * An object makes m trials of success probability p = 1/T, q = 1 - p, and is sampled at its first
 * success, after f failures. Three numbers have the mean m when an unsampled object counts as 0:
 *
 *     m / pi           pi = 1 - q^m; needs no f                        Horvitz-Thompson
 *     q/p + m - f      T - 1 failures a success, and what is left      failed trials
 *     T H              H = 1 + Bin(m - 1 - f, p), had it gone on       hits
 *
 * Each divided by m estimates a number of objects, and times any value that belongs to the object
 * its sum. TCMalloc counts f from 1, so that its T + m - f is the second one, and its scaling of a
 * request r to a usable bytes, a/(r + 1), is the division by m = r + 1. Given which objects were
 * sampled, the means of the second and the third are m / pi; so they are the first plus noise that
 * says nothing about the truth (Rao and Blackwell), and the first is the default.
 *
 * H has to be drawn: the sampler stopped at the first success. The draw is a function of a seed, so
 * that a report has the same digits every time, and exact at any size: by geometric gaps where few
 * successes are due, by transformed rejection where many are (W. Hormann, "The generation of
 * binomial random variates", Journal of Statistical Computation and Simulation 46, 1993, algorithm
 * BTRS), whose constants hold from a mean of 10 on, for p <= 1/2. Its last test compares
 * probabilities themselves, which bp_beta_prefix gives without cancellation where log-gammas of
 * 10^12 have no digit left.
 */
#include "estimate/weighting.h"

#include <assert.h>
#include <math.h>

#include "estimate/estimate.h"
#include "estimate/numeric/special.h"

/* Below this mean BTRS is not valid; gaps cost one logarithm a success. */
static const double mean_of_rejection = 10;

/* A uniform number in (0, 1) of 53 bits, by SplitMix64 (Steele, Lea and Flood 2014). */
static double draw_uniform(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* Successes in `trials`, gap by gap. */
static uint64_t draw_by_gaps(uint64_t trials, uint64_t interval, uint64_t *state)
{
	const double scale = 1 / bp_lambda(interval);
	uint64_t successes = 0;
	for (uint64_t left = trials;; successes++) {
		double gap = floor(-log(draw_uniform(state)) * scale);
		if (gap >= (double)left)
			return successes;
		left -= (uint64_t)gap + 1;
	}
}

/* The same by rejection from a hat over the scaled and shifted variable; constants of the paper. */
static uint64_t draw_by_rejection(uint64_t trials, uint64_t interval, uint64_t *state)
{
	const double n = (double)trials, p = 1 / (double)interval, q = 1 - p;
	const double deviation = sqrt(n * p * q);
	const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
	const double centre = n * p + 0.5, squeeze = 0.92 - 4.2 / b;
	const double hat = (2.83 + 5.1 / b) * deviation, mode = floor((n + 1) * p);
	/* (n + 1) p q times the probability of the mode; the factor cancels in the test. */
	const double highest = bp_beta_prefix(mode + 1, n - mode + 1, p, q);
	for (;;) {
		double u = draw_uniform(state) - 0.5, v = draw_uniform(state);
		double edge = 0.5 - fabs(u), k = floor((2 * a / edge + b) * u + centre);
		if (k < 0 || k > n)
			continue;
		if ((edge >= 0.07 && v <= squeeze) ||
			v * hat / (a / (edge * edge) + b) <=
				bp_beta_prefix(k + 1, n - k + 1, p, q) / highest)
			return (uint64_t)k;
	}
}

uint64_t bp_draw_hits(uint64_t trials, uint64_t offset, uint64_t interval, uint64_t seed)
{
	assert(offset < trials && interval >= 1);
	uint64_t state = seed, rest = trials - 1 - offset;
	if (interval == 1) /* every trial succeeds */
		return 1 + rest;
	if ((double)rest < mean_of_rejection * (double)interval)
		return 1 + draw_by_gaps(rest, interval, &state);
	return 1 + draw_by_rejection(rest, interval, &state);
}

double bp_weighting_of(enum bp_weighting weighting, uint64_t trials, uint64_t interval,
	uint64_t offset, bool exact, uint64_t seed)
{
	assert(trials >= 1 && interval >= 1 && weighting < BP_WEIGHTING_COUNT);
	const double m = (double)trials, t = (double)interval;
	if (exact || (weighting == BP_WEIGHTING_MEMRAY && trials >= interval))
		return 1;
	switch (weighting) {
	case BP_WEIGHTING_HT:
		return 1 / bp_inclusion_probability(trials, interval);
	case BP_WEIGHTING_FAILED_TRIALS:
		assert(offset < trials);
		return (t - 1 + (double)(trials - offset)) / m;
	case BP_WEIGHTING_HITS:
	case BP_WEIGHTING_MEMRAY:
		return t * (double)bp_draw_hits(trials, offset, interval, seed) / m;
	case BP_WEIGHTING_COUNT:
		break;
	}
	return NAN;
}
