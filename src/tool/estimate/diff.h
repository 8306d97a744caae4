/* SPDX-License-Identifier: MIT */
/*
 * Two figures compared: what one profile says of a key against what another says of it. p-value,
 * ratio and difference with their intervals, for one run a side and for several; verdicts over many
 * keys at a controlled false-discovery rate (docs/statistics.md, "Differences").
 *
 * A side is all that a comparison needs to know of a figure: what of it is certain, mean and
 * variance of the rest, and the unseen unit. Sides are made from sums, or from a counted number,
 * and may be scaled (per byte of work) and added (several runs). Called by diff/ and the
 * statistics tests. Pure, no allocation, safe to call from any thread.
 *
 * All p-values and intervals here cover the noise of sampling. The program's own variation between
 * runs enters only through bp_diff_runs.
 */
#ifndef BP_ESTIMATE_DIFF_H
#define BP_ESTIMATE_DIFF_H

#include <stddef.h>

#include "estimate/estimate.h"

struct bp_side {
	double estimate; /* Horvitz-Thompson, or the counted number */
	double variance; /* estimated; 0: nothing is estimated (counted, or taken exactly) */
	double unit;	 /* mean of what may be there without any sample; 0 if counted */
	double lattice;	 /* size of the steps in which the estimate moves: kappa under law
			  * `bernoulli`, 1 of a counted number, 0 under law `exact`, whose limits do
			  * not need it */
	uint64_t samples;
	double certain; /* part of `estimate` that was sampled, K: the truth is not below it */
	double taken; /* part of `certain` that is in every sample, being of objects of T and more:
			 * judged from the cumulants, in [0, certain]; 0 under law `bernoulli` */
};

/* Bytes or objects of a key, from its sums; parameters as in bp_estimate_bytes and
 * bp_estimate_objects. `ratio_max`: 1 for bytes as requested. */
struct bp_side bp_side_of_values(
	const struct bp_sums *sums, uint64_t interval_max, double ratio_max);
struct bp_side bp_side_of_objects(
	const struct bp_sums *sums, uint64_t interval_max, uint64_t size_min, uint32_t charge);
/* A counted number. */
struct bp_side bp_side_of_count(double count);

/* A side in other units: per byte of work, per second ... `factor` > 0. */
struct bp_side bp_side_scale(struct bp_side side, double factor);
/* Two disjoint sides together (independent runs, or parts of one run). One unseen unit serves both:
 * what no sample was seen of is as unseen in the sum. */
struct bp_side bp_side_add(struct bp_side a, struct bp_side b);

struct bp_change {
	double p;		       /* two-sided: of no change, melded gammas; in [0, 1] */
	double p_mid;		       /* the same as a mid-p: for false-discovery control */
	double p_increase, p_decrease; /* one-sided: small if it grew, if it shrank */
	struct bp_interval difference; /* new - base */
	struct bp_interval ratio; /* new / base; high may be INFINITY; `unknown` if base is 0 */
};

/* One run a side. alpha: two-sided error of the intervals, in (0, 1). About 180 us. */
struct bp_change bp_diff_pair(const struct bp_side *base, const struct bp_side *new, double alpha);

/* The p-values and estimates alone, in about 25 us: the intervals say nothing (-INFINITY or 0 to
 * INFINITY). For a first pass over many keys. */
struct bp_change bp_diff_pair_p(const struct bp_side *base, const struct bp_side *new);

/* Several runs a side, `base_count` and `new_count` >= 1: the means are compared. With at least two
 * runs on each side the variation between runs is estimated and used: each p-value is the larger
 * one of a Welch test of the runs' estimates and of the sampling test of the pooled runs, and each
 * interval is the hull of Welch's (of the ratio: on logarithms) and of the pooled sampling
 * interval. With one run on a side nothing is known of the variation between runs and only sampling
 * noise is covered: as bp_diff_pair of the means. Unequal numbers of runs, beyond 3 against 5, are
 * not covered as well (docs/statistics.md). */
struct bp_change bp_diff_runs(const struct bp_side *base, size_t base_count,
	const struct bp_side *new, size_t new_count, double alpha);

/* The p-values and estimates alone, for a first pass over many keys. */
struct bp_change bp_diff_runs_p(
	const struct bp_side *base, size_t base_count, const struct bp_side *new, size_t new_count);

/* The mean that runs have where these `count` >= 2 are a random sample of many: the hull of the
 * interval that sampling alone gives the mean of these runs, and of Student's interval with the
 * variance between their estimates (which holds both the variation between runs and the noise of
 * sampling) and `count` - 1 degrees of freedom (docs/statistics.md, "A sample of hosts"). `alpha`:
 * two-sided, in (0, 1). The lower limit is at least 0. */
struct bp_interval bp_mean_of_runs(const struct bp_side *runs, size_t count, double alpha);

/* Two figures of each of `count` >= 2 runs (or hosts) that are a random sample of many: the mean of
 * the changes new[i] - base[i], which share what makes run i different. Each p-value is the larger
 * one, and each interval the hull, of the sampling test of the pooled runs and of Student's test of
 * the changes, whose variance holds both the variation between runs and the noise of sampling
 * (docs/statistics.md, "A sample of hosts"). The ratio has no limits (NAN). */
struct bp_change bp_diff_pairs(
	const struct bp_side *base, const struct bp_side *new, size_t count, double alpha);
/* One-sided lower limit of that mean at error a in (0, 0.5). */
double bp_diff_pairs_lower(
	const struct bp_side *base, const struct bp_side *new, size_t count, double a);

/* Standard deviation between runs beyond sampling noise, sqrt(max(0, S^2 - mean variance)), in the
 * unit of the sides; count >= 2. */
double bp_between_runs_deviation(const struct bp_side *runs, size_t count);

/* One-sided lower limits at error a in (0, 1): of new / base, and of new - base. The upper ones
 * are the lower ones of the exchanged sides (1 / x, -x). */
double bp_ratio_lower(const struct bp_side *base, const struct bp_side *new, double a);
double bp_diff_lower(const struct bp_side *base, const struct bp_side *new, double a);

/* One-sided p-values and limits hold their nominal error, as far as was enumerated
 * (docs/statistics.md), with one exception: objects of 6 T and more as trials (law `bernoulli`)
 * beside a few small ones, against a counted figure or one that is all exact. There the upper limit
 * misses, and p is at most a, with a probability of up to 1.2 a at .05, 5 a at .0001. A check that
 * must hold even then, for a in [.0001, .05], divides its error by this. */
#define BP_DIFF_SAFETY 9

/* Benjamini and Hochberg's adjusted p-values: q[i] for p[i], in place of which they may stand.
 * `order` is scratch memory for `count` numbers. A key with q <= rate is a discovery; among the
 * discoveries at most `rate` are false on average. */
void bp_benjamini_hochberg(const double *p, size_t count, size_t *order, double *ret_q);

/* Are there samples enough on both sides together for a verdict among many keys? (Blind to the
 * direction, so that it does not bias the p-values of the rest.) */
#define BP_DIFF_SAMPLES_LEAST 8

#endif
