/* SPDX-License-Identifier: MIT */
/*
 * Checks: is a figure within its limit, and if the samples cannot tell, what would
 * (docs/statistics.md, "Checks"). A check looks at one-sided confidence limits, each of the whole
 * false-alarm rate a:
 *
 *	exceeded   the lower limit is above the bound:  P(exceeded | truth <= bound) <= a
 *	within     the upper limit is not above it:     P(within   | truth >  bound) <= a
 *	undecided  neither
 *
 * Several checks in one check share a false-alarm rate by dividing it (Bonferroni). At twice the
 * bound a check says "within" with a probability of at most a^2 if objects are small, which is
 * reached only where no sample at all is due.
 *
 * Called by check/ and the statistics tests. Pure, no allocation, safe to call from
 * any thread. a in (0, 1/2): one-sided.
 */
#ifndef BP_ESTIMATE_CHECK_H
#define BP_ESTIMATE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate/diff.h"

enum bp_outcome { BP_OUTCOME_WITHIN, BP_OUTCOME_EXCEEDED, BP_OUTCOME_UNDECIDED, BP_OUTCOME_COUNT };

/* "within", "exceeded", "undecided". */
extern const char *const bp_outcome_names[BP_OUTCOME_COUNT];

/* One-sided limits; -INFINITY or INFINITY where a side does not hold. */
struct bp_bounds {
	double low, high;
};

/* The outcome of one check. NaN in `bounds` counts as a side that does not hold. */
enum bp_outcome bp_check_outcome(struct bp_bounds bounds, double most);

/* The outcome of two checks together: exceeded if one is, else undecided if one is. */
enum bp_outcome bp_check_both(enum bp_outcome one, enum bp_outcome other);

/* The smallest bound that a figure without any sample can be shown to be within: ln(1/a) unseen
 * units (1 / lambda bytes: 4.61 T at a = .01). Smaller ones are within only where something is
 * counted. */
double bp_check_least(double unit, double a);

/* Bounds of new / base, each at error a, from one run a side or more: bp_diff_runs, so that
 * `check` and `diff` agree. high may be INFINITY. */
struct bp_bounds bp_check_ratio(const struct bp_side *base, size_t base_count,
	const struct bp_side *new, size_t new_count, double a);

/* The mean of `count` >= 1 sides. */
struct bp_side bp_check_mean(const struct bp_side *sides, size_t count);

/* What would decide. */
struct bp_check_need {
	bool decidable;	    /* false: the truth seems so near to the bound that no T decides */
	double factor;	    /* how far the estimate is from the bound, >= 1; INFINITY: no sample */
	double samples_now; /* what the bound itself stands for, in samples, at the T there was */
	double samples;	    /* ... with which the check decides in 80 % of runs */
	uint64_t interval;  /* the T that gives so many; at least 1, below the present one */
};

/* Nearer to the bound than this factor nothing decides: at 1.05 a check needs 4000 samples. */
#define BP_CHECK_FACTOR_LEAST 1.05
/* The same for growth, where a bound of 5 % on what does not grow at all is a factor of 1.05: at
 * 1.02 it needs 50,000 samples a side. */
#define BP_CHECK_RATIO_LEAST 1.02
/* The probability that the need is stated for. */
#define BP_CHECK_POWER 0.8

/* What an undecided check has to go by. The figure is what was sampled, which is certain, and an
 * estimated rest; only the rest profits from more samples. */
struct bp_check_evidence {
	double known;	   /* sampled bytes or objects */
	double rest;	   /* estimate of the rest, >= 0 */
	double variance;   /* of the estimate */
	double unit;	   /* what may be there without any sample, > 0 */
	uint64_t interval; /* largest T in force */
};

/* For a bound on a figure; the errors at which exceeded and within were decided (of a peak the
 * first is smaller). */
struct bp_check_need bp_check_need(
	struct bp_check_evidence evidence, double most, double a_exceeded, double a_within);

/* For a bound on new / base, from the means of the sides, the T of both taken to be changed
 * alike. */
struct bp_check_need bp_check_ratio_need(const struct bp_side *base, const struct bp_side *new,
	uint64_t interval, double most, double a);

/* The same where the ratio has wider bounds than its sides give it (a peak): what was needed is
 * raised to what brings the bound from where it is to `most`, with as much to spare as decides in
 * about 80 % of runs. Limits shrink with the square root of T. */
struct bp_check_need bp_check_need_of_bounds(struct bp_check_need need, struct bp_bounds bounds,
	double ratio, uint64_t interval, double most);

#endif
