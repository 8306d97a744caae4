/* SPDX-License-Identifier: MIT */
/*
 * The figures of lifetime.h for objects whose ages are only known to lie between two limits
 * (docs/statistics.md, "Lifetimes in bytes"). That an object ended is known; when is not. Limits
 * hold whatever the ages are between theirs.
 *
 * Called by aggregation/views/lifetimes.c. Pure functions, no allocation; several threads may call
 * them at once, each with arrays of its own. `unseen` and `alpha` are as in lifetime.h.
 */
#ifndef BP_ESTIMATE_LIFETIME_BETWEEN_H
#define BP_ESTIMATE_LIFETIME_BETWEEN_H

#include "estimate/lifetime.h"

struct bp_lifetime_between {
	struct bp_lifetime lifetime; /* its age is a point between them, for the estimate */
	uint64_t low, high;	     /* UINT64_MAX: without an upper limit */
};

/* Objects in two orders, and room for as many lifetimes. All belong to the caller, who has the same
 * objects in both arrays and sorts them by bp_lifetimes_between_sort. */
struct bp_lifetimes_between {
	struct bp_lifetime_between *by_low, *by_high;
	struct bp_lifetime *buffer;
	size_t count, ended;
};

/* Sorts, and sets `ended`. n log n steps. */
void bp_lifetimes_between_sort(struct bp_lifetimes_between *objects);

/* As bp_lifetime_shares. n log n steps, and n for each age. */
void bp_lifetime_shares_between(const struct bp_lifetimes_between *objects, double unseen,
	double alpha, const uint64_t *ages, size_t age_count, struct bp_interval *ret_shares);

/* As bp_lifetime_median. n log n steps. */
struct bp_interval bp_lifetime_median_between(
	const struct bp_lifetimes_between *objects, double unseen, double alpha);

#endif
