/* SPDX-License-Identifier: MIT */
/*
 * From sampled objects to estimates with confidence intervals: the statistics of allocation
 * sampling, as derived in docs/statistics.md. Pure functions: no I/O, no globals, no allocation,
 * safe to call from any thread. Called by profile/ (aggregation) and by the statistics tests.
 *
 * Notation of docs/statistics.md: T mean sampling interval in bytes, k size of an object in bytes,
 * m = k + charge the trials it made, lambda = -log1p(-1/T), pi(m) = 1 - exp(-lambda m) the
 * probability that it was sampled, g = (1 - pi) / pi.
 */
#ifndef BP_ESTIMATE_ESTIMATE_H
#define BP_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* A figure with its confidence limits, in bytes or objects. low <= estimate <= high. */
struct bp_interval {
	double estimate, low, high;
	bool exact;   /* known, not estimated: low == estimate == high */
	bool unknown; /* only the limits are known: `estimate` is meaningless (NAN) */
};

/* The sums per key that add up over threads, windows, processes and runs (docs/statistics.md,
 * "Sums per key"). Zeroed memory is an empty, valid value. Never subtract: rebuild. */
struct bp_sums {
	uint64_t samples;    /* s */
	double bytes;        /* K: sum of the values of the samples, bytes */
	double c1, c2, c3;   /* cumulants of the unsampled rest, in bytes, bytes^2, bytes^3 */
	double n1, n2, n3;   /* the same for objects */
	double log_pi_sum;   /* sum of ln(pi) over the samples not taken exactly */
	uint64_t first_size; /* (k, T) of the first sample not taken exactly */
	uint64_t first_interval;
	bool has_first;
	bool mixed;            /* a later one differed from the first */
	bool bernoulli;        /* a sample with m >= T was not taken exactly */
	uint64_t interval_max; /* largest T in force while the key could have been sampled */
	double ratio_max;      /* largest value / m of a sample; 0: values are sizes */
};

/* Adds one sampled object: `value` is what is summed (its size, usable size ...; bytes), `size` the
 * requested size k, `charge` the trials beyond it, `interval` the T in force (>= 1), `exact` whether
 * it was recorded with certainty. */
void bp_sums_add(struct bp_sums *sums, double value, uint64_t size, uint32_t charge,
		 uint64_t interval, bool exact);

/* Adds all of `other` to `sums`. Merge in a fixed order for reproducible output. */
void bp_sums_merge(struct bp_sums *sums, const struct bp_sums *other);

/* Horvitz-Thompson estimate and N3 interval of the bytes of a key, two-sided error `alpha` in (0,1).
 * `interval_max` (>= 1): the largest T in force; used when the key has no sample too. */
struct bp_interval bp_estimate_bytes(const struct bp_sums *sums, uint64_t interval_max,
				     double alpha);

/* The same for objects; `size_min`: the smallest size that can occur under the key, bytes. */
struct bp_interval bp_estimate_objects(const struct bp_sums *sums, uint64_t interval_max,
				       double alpha, uint64_t size_min, uint32_t charge);

/* lambda of T (>= 1; T = 1 gives INFINITY) and the inclusion probability of m trials. */
double bp_lambda(uint64_t interval);
double bp_inclusion_probability(uint64_t trials, uint64_t interval);

#endif
