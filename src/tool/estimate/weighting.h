/* SPDX-License-Identifier: MIT */
/*
 * The estimators of the field beside ours: what one sample weighs in each (docs/statistics.md,
 * "Estimators and how they relate"). Every one is a sum over samples of value x weight, unbiased;
 * they differ in variance. Horvitz-Thompson's is the conditional mean of the others.
 *
 * Called by aggregation/ (for --estimator), plan.c and tests. Pure, safe to call from any thread.
 */
#ifndef BP_ESTIMATE_WEIGHTING_H
#define BP_ESTIMATE_WEIGHTING_H

#include <stdbool.h>
#include <stdint.h>

enum bp_weighting {
	BP_WEIGHTING_HT,	    /* 1 / pi: .NET's approach 1 */
	BP_WEIGHTING_FAILED_TRIALS, /* (q/p + m - f) / m: .NET's approach 2; TCMalloc's T + k - f */
	BP_WEIGHTING_HITS,	    /* T hits / m; hits after the first are drawn */
	BP_WEIGHTING_MEMRAY,	    /* 1 from T on, T hits / m below. For samplers that take the
				     * former with certainty; else too low by the factor pi there */
	BP_WEIGHTING_COUNT
};

/* How many successes an object of `trials` has whose first one is after `offset` failures (offset <
 * trials): 1 + Bin(trials - 1 - offset, 1 / interval), drawn from `seed`: the same for the same
 * arguments. */
uint64_t bp_draw_hits(uint64_t trials, uint64_t offset, uint64_t interval, uint64_t seed);

/* The number of objects that a sample of `trials` >= 1 at `interval` >= 1 stands for; times the
 * size (usable size, ...) it estimates bytes. `offset`: failures before the success, < trials.
 * `exact`: taken with certainty: weight 1 in every estimator. `seed` as above, used by those with
 * hits. */
double bp_weighting_of(enum bp_weighting weighting, uint64_t trials, uint64_t interval,
	uint64_t offset, bool exact, uint64_t seed);

#endif
