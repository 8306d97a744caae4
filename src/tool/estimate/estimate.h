/* SPDX-License-Identifier: MIT */
/*
 * From sampled objects to estimates with confidence intervals: the statistics of allocation
 * sampling, as derived in docs/statistics.md. Pure functions: no I/O, no globals, no allocation,
 * safe to call from any thread. Called by aggregation/ and by the statistics tests.
 *
 * Notation of docs/statistics.md: T mean sampling interval in bytes, k size of an object in bytes,
 * m = k + charge the trials it made, lambda = -log1p(-1/T), pi(m) = 1 - exp(-lambda m) the
 * probability that it was sampled, g = (1 - pi) / pi.
 *
 * Preconditions of all: T >= 1, 0 < alpha < 1 (two-sided: alpha / 2 at each end; for a one-sided
 * limit of error a pass alpha = 2 a and use that limit alone).
 */
#ifndef BP_ESTIMATE_ESTIMATE_H
#define BP_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

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
	double bytes;	     /* K: sum of the values of the samples, bytes */
	double c1, c2, c3;   /* cumulants of the unsampled rest, in bytes, bytes^2, bytes^3 */
	double n1, n2, n3;   /* the same for objects */
	double log_pi_sum;   /* sum of ln(pi) over the samples not taken exactly */
	uint64_t first_size; /* (k, T, charge, value) of the first sample not taken exactly */
	uint64_t first_interval;
	uint32_t first_charge;
	double first_value;
	bool has_first;
	bool mixed;	       /* a later one differed from the first */
	bool bernoulli;	       /* a sample with m >= T was not taken exactly */
	uint64_t interval_max; /* largest T of the samples; callers that know better what may be
				* there unseen set it to 0, and give that with every estimate */
	double ratio_max;      /* largest value / m of a sample; 0: values are sizes */
	bool single_size; /* set by the caller, kept by add and merge: every object that the key
			   * could hold has the same size, as in a row per size. The lower limit is
			   * then a whole number of objects, Clopper and Pearson's. Samples of one
			   * size are no such knowledge. */
};

/* Adds one sampled object: `value` is what is summed (its size, usable size ...; bytes), `size` the
 * requested size k, `charge` the trials beyond it, `interval` the T in force (>= 1), `exact`
 * whether it was recorded with certainty. An object that made no trial (k + charge = 0) counts as
 * one. */
void bp_sums_add(struct bp_sums *sums, double value, uint64_t size, uint32_t charge,
	uint64_t interval, bool exact);

/* The sums of `times` >= 1 samples of which each has these. */
struct bp_sums bp_sums_times(const struct bp_sums *one, uint64_t times);

/* Adds all of `other` to `sums`. Merge in a fixed order for reproducible output. */
void bp_sums_merge(struct bp_sums *sums, const struct bp_sums *other);

/* Horvitz-Thompson estimate and N3 interval of the bytes of a key, two-sided error `alpha` in
 * (0,1). `interval_max` (>= 1): the largest T in force; used when the key has no sample too. Where
 * `sums->bernoulli` is set this misses in up to 7 % instead of 2.5: use size_classes.h. */
struct bp_interval bp_estimate_bytes(
	const struct bp_sums *sums, uint64_t interval_max, double alpha);

/* The same where the values are not sizes. `ratio_max`: the largest value per trial (value / m)
 * that can occur under the key, sampled or not; usable sizes of small objects have several. */
struct bp_interval bp_estimate_values(
	const struct bp_sums *sums, uint64_t interval_max, double ratio_max, double alpha);

/* The same for objects; `size_min`: the smallest size that can occur under the key, bytes. */
struct bp_interval bp_estimate_objects(const struct bp_sums *sums, uint64_t interval_max,
	double alpha, uint64_t size_min, uint32_t charge);

/* A counted total as an interval: exact where low == high, else two limits without an estimate (the
 * totals of a killed process). */
struct bp_interval bp_interval_of_total(uint64_t total_low, uint64_t total_high);

/* Bytes of a key that is part of a counted total: `sums` of the key, `complement` of all other
 * samples of the same window (merge of the other keys), total in [total_low, total_high] bytes, the
 * two equal where it is exact. Calibrated estimate and tilted-beta interval. For allocated bytes
 * with values = sizes only; a total below the sampled bytes is not believed (N3 without it). */
struct bp_interval bp_estimate_known_total(const struct bp_sums *sums,
	const struct bp_sums *complement, uint64_t interval_max, uint64_t total_low,
	uint64_t total_high, double alpha);

/* The smallest size that can occur under a key, and the smallest that can occur beside it; bytes. 0
 * assumes nothing. */
struct bp_size_min {
	uint64_t key, beside;
};

/* The same for objects of a counted number. */
struct bp_interval bp_estimate_known_objects(const struct bp_sums *sums,
	const struct bp_sums *complement, uint64_t interval_max, uint64_t total_low,
	uint64_t total_high, double alpha, struct bp_size_min size_min, uint32_t charge);

/* Puts the Horvitz-Thompson estimate of the objects of `sums` back into `objects`; the limits stay,
 * and hold it. */
void bp_uncalibrate_objects(struct bp_interval *objects, const struct bp_sums *sums);

/* Are more objects missing from the estimate of all than its noise explains? Then there are sizes
 * that were not sampled, nobody knows whose, and estimates of objects are not calibrated
 * (docs/statistics.md, "Part of a known total"). `missing`: objects counted less the estimate of
 * all; `variance`: of that estimate; or of a key and its complement, and the counted number. */
bool bp_objects_are_missing(double missing, double variance);
bool bp_objects_are_missing_beside(const struct bp_sums *sums, const struct bp_sums *complement,
	uint64_t total_low, uint64_t total_high);

/* m, the trials an object makes: size + charge, saturated (a size read from a damaged file may be
 * anything), and at least 1. */
uint64_t bp_trials(uint64_t size, uint32_t charge);

/* lambda of T (>= 1; T = 1 gives INFINITY) and the inclusion probability of m trials. */
double bp_lambda(uint64_t interval);
double bp_inclusion_probability(uint64_t trials, uint64_t interval);

/* How a sample of m trials goes into one or both of two independent halves of the samples, each
 * with the inclusion probability of an interval of about 2 T (docs/statistics.md, "Peak"). */
struct bp_half_split {
	double inclusion; /* of each half: a sample in it has the weight value / inclusion */
	double both;	  /* probability that it goes to both; otherwise a fair coin decides */
};
struct bp_half_split bp_split_in_halves(uint64_t trials, uint64_t interval, bool exact);

/* A number that is the sample's own, whatever is looked at and whatever it is read from: the seed
 * of what is drawn for it. Sequence and time as recorded. */
static inline uint64_t bp_draw_identity(uint64_t sequence, uint64_t time_ns)
{
	/* Any constant: number 0 at time 0 must not have identity 0. */
	return bp_hash_u64(bp_hash_u64(sequence + 1) ^ time_ns);
}

/* The halves that a sample of this identity goes into: bit 0, bit 1, or both. */
unsigned bp_draw_halves(struct bp_half_split split, uint64_t identity);

/* One-sided error of the lower limit of a peak: (alpha / 2) / (1 + factor * turnovers), with
 * turnovers = sampled allocations / samples live at the peak, >= 0. */
double bp_peak_lower_level(double alpha, double turnovers, double factor);

/* Chosen so that no tail passes 2.75 %: simulated misses at most 1.4 % on flat heaps, the worst
 * case; 12 instead gives 1.5 to 3.0 % there. */
#define BP_PEAK_FACTOR 25.0

/* What was live at the moment that was named as the peak's, from its intervals there: one of
 * error alpha, whose upper limit holds, and one of error 2 bp_peak_lower_level(), whose lower
 * limit does. */
struct bp_interval bp_peak_moment_interval(
	struct bp_interval at_alpha, struct bp_interval at_level);

/* Interval of the largest value at any time. `moment`: of the named moment, as above. `high`: the
 * largest of the upper limits of all moments, at error alpha / 2 each. `certain`: the most that was
 * sampled and live at any one moment, which the truth is not below. `estimate`: the cross-fitted
 * one. The limits are not moved by the estimate: the estimate is brought between them. */
struct bp_interval bp_peak_interval(
	struct bp_interval moment, double high, double certain, double estimate);

/* What an upper limit is made from, of the samples that live at one moment: K, C1, C2, C3 of
 * bp_sums. */
struct bp_cumulants {
	double sampled, c1, c2, c3;
};

/* N3's upper limit for the depth z >= 0 (the normal quantile of 1 - error) and the unseen unit
 * `unit` > 0, to a per cent of what lies above `sampled` at errors down to .025 (4 % at .0005), in
 * a hundredth of the time: for finding the moment at which the limit itself is worth computing
 * (docs/statistics.md, "Peak"). It grows with each of the four. */
double bp_upper_limit_about(const struct bp_cumulants *sums, double unit, double depth);
/* The lower limit likewise, >= sampled, to a third of a standard deviation. It grows with `sampled`
 * and `c1`. */
double bp_lower_limit_about(const struct bp_cumulants *sums, double depth);
/* The depth of a one-sided error in (0, 1); 0 from .5 on. */
double bp_limit_depth(double error);

#endif
