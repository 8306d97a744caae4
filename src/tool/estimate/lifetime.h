/* SPDX-License-Identifier: MIT */
/*
 * How long sampled objects live: the share of them that ends within an age, and the age by which
 * half of them have ended, with confidence limits (docs/statistics.md, "Lifetimes"). Objects that
 * were still live when they were last seen are censored: they count as long as they were seen, and
 * what became of them afterwards is not assumed.
 *
 * Ages are in any unit: ns, or bytes that the process allocated in the meantime. Where an age is
 * only known to lie between two limits, lifetime_between.h has the same figures.
 *
 * Called by aggregation/views/lifetimes.c and the statistics tests. Pure functions, no allocation,
 * safe to call from any thread. Preconditions of all: the array is sorted by age
 * (bp_lifetime_compare), 0 < alpha < 1 (two-sided, as in estimate.h), unseen >= 0.
 *
 * `unseen` is the size of the part of which nothing may have been sampled, in the unit of `value`:
 * 1 / lambda for bytes, 1 / pi of the smallest object for objects, 0 where every object is sampled
 * (T = 1).
 */
#ifndef BP_ESTIMATE_LIFETIME_H
#define BP_ESTIMATE_LIFETIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate/estimate.h"

/* A sampled object, or several that are alike and were sampled independently. */
struct bp_lifetime {
	uint64_t age;	/* how old it was when it ended, or when it was last seen */
	double value;	/* what is summed: bytes, or 1 for objects; >= 0 */
	double whole;	/* 1 / pi, >= 1; 1: it was taken with certainty */
	uint32_t count; /* so many objects, >= 1 */
	bool ended;	/* false: it was still live (censored) */
};

/* The order of ages, for qsort: negative, 0 or positive. */
int bp_lifetime_compare(const void *left, const void *right);

/* The share of `value` that ends within each of the ages, which ascend: ages[i] to
 * ret_shares[i]. 0 <= low <= estimate <= high <= 1. Where no object was seen as long as that,
 * `unknown` is set: the limits hold, and there is no estimate. The estimate is Kaplan and Meier's
 * with Horvitz-Thompson's weights. `exact` at T = 1. */
void bp_lifetime_shares(const struct bp_lifetime *lifetimes, size_t count, double unseen,
	double alpha, const uint64_t *ages, size_t age_count, struct bp_interval *ret_shares);

/* The age by which half of `value` has ended: the smallest at which the share is 1/2 or more.
 * INFINITY stands for an estimate or an upper limit that is beyond all ages seen. `unknown`: no
 * object at all. */
struct bp_interval bp_lifetime_median(
	const struct bp_lifetime *lifetimes, size_t count, double unseen, double alpha);

/* The share of `value` for which `ended` is set, whatever the ages: a part of a whole whose size is
 * estimated, too. The array need not be sorted. */
struct bp_interval bp_lifetime_ended(
	const struct bp_lifetime *lifetimes, size_t count, double unseen, double alpha);

#endif
