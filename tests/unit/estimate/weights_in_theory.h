/* SPDX-License-Identifier: MIT */
/*
 * What theory says of weights, which tests compare with sampling and with reference values: the
 * probability that thinning keeps a sample, and the variance of an object's weight
 * (docs/statistics.md, "Thinning" and "Other estimators"). Pure functions.
 */
#ifndef BP_TESTS_WEIGHTS_IN_THEORY_H
#define BP_TESTS_WEIGHTS_IN_THEORY_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimate/estimate.h"
#include "estimate/weighting.h"

/* Probability with which a live sample of m = `trials` is kept when the set of live samples is
 * thinned from interval `from` to `to` >= from: pi_to(m) / pi_from(m), where with `exact_law` an
 * object of m >= T has pi = 1. All that are kept then have the weight of `to` (docs/statistics.md,
 * "Thinning"). */
static inline double thinning_keep_probability(
	uint64_t trials, uint64_t from, uint64_t to, bool exact_law)
{
	assert(trials >= 1 && from >= 1 && to >= from);
	if (from == to || (exact_law && trials >= to))
		return 1;
	double before = exact_law && trials >= from ? 1 : bp_inclusion_probability(trials, from);
	return bp_inclusion_probability(trials, to) / before;
}

/* Variance, per object of `trials`, of its contribution to the estimate of a number of objects;
 * times trials^2 it is that of a number of trials. 0 if `exact`.
 *
 * With I = "sampled": Var(I / pi) = (1 - pi) / pi = g. Failed trials: the sum of the T - 1 + m - f
 * is that of s geometric numbers less their failures, q pi / p^2 an object. Hits: T Bin(m, p). */
static inline double weighting_variance(
	enum bp_weighting weighting, uint64_t trials, uint64_t interval, bool exact)
{
	assert(trials >= 1 && interval >= 1 && weighting < BP_WEIGHTING_COUNT);
	const double m = (double)trials, t = (double)interval;
	if (exact || interval == 1 || (weighting == BP_WEIGHTING_MEMRAY && trials >= interval))
		return 0;
	switch (weighting) {
	case BP_WEIGHTING_HT:
		return 1 / expm1(bp_lambda(interval) * m);
	case BP_WEIGHTING_FAILED_TRIALS:
		return (t - 1) / m * (t / m) * bp_inclusion_probability(trials, interval);
	case BP_WEIGHTING_HITS:
	case BP_WEIGHTING_MEMRAY:
		return (t - 1) / m;
	case BP_WEIGHTING_COUNT:
		break;
	}
	return NAN;
}

#endif
