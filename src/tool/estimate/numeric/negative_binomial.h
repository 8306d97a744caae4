/* SPDX-License-Identifier: MIT */
/*
 * The interval of the .NET document: s successes were seen, the number of failed trials before them
 * is negative binomial, so its quantiles around the bytes that are known bound what was allocated
 * (docs/statistics.md, "The negative binomial interval"). By the exact incomplete beta function and
 * by Camp and Paulson's approximation, with the document's rules for the edges of a window. Offered
 * for comparison: N3 is narrower and holds where this does not.
 *
 * Pure, safe to call from any thread. p = 1 / interval, interval >= 2.
 */
#ifndef BP_ESTIMATE_NUMERIC_NEGATIVE_BINOMIAL_H
#define BP_ESTIMATE_NUMERIC_NEGATIVE_BINOMIAL_H

#include "estimate/estimate.h"

enum bp_negative_binomial {
	BP_NEGATIVE_BINOMIAL_EXACT,
	BP_NEGATIVE_BINOMIAL_CAMP_PAULSON,
};

/* How many successes each limit is computed with, s having been seen. */
enum bp_window_edges {
	BP_EDGES_END, /* s and s + 1: any window whose end does not look at the samples */
	/* s and s: a window that ends at a sample; the document's plain form */
	BP_EDGES_AT_SAMPLES,
	BP_EDGES_BOTH, /* s - 1 and s + 1: the document's form for both ends unknown */
	BP_EDGES_COUNT
};

/* P(X <= x), X the number of failures before success number `successes`. */
double bp_negative_binomial_cdf(
	enum bp_negative_binomial method, double failures, double successes, uint64_t interval);

/* The document's quantile: the largest whole x with P(X <= x) < probability, at least 0; 0 for no
 * success. Exact to the last unit by stepping, for EXACT. */
double bp_negative_binomial_quantile(enum bp_negative_binomial method, double probability,
	uint64_t successes, uint64_t interval);

/* Interval and estimate s q/p + u of the trials made, from `samples` successes and u =
 * `after_hits`: the sum over samples of trials from the successful one on (m - f). Samples taken
 * exactly are not among them: add what they hold to all three figures. */
struct bp_interval bp_estimate_negative_binomial(enum bp_negative_binomial method,
	enum bp_window_edges edges, uint64_t samples, double after_hits, uint64_t interval,
	double alpha);

#endif
