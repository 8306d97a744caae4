/* SPDX-License-Identifier: MIT */
/*
 * The limits of an unsampled rest in which single large objects matter: N3's rest of everything
 * small, and beside it the unseen objects of each class of large sizes, counted one by one
 * (docs/statistics.md, "N3 by size classes"). Called by size_classes.c. Pure, safe to call from any
 * thread; uses about 100 KiB of stack.
 */
#ifndef BP_ESTIMATE_UNSEEN_LARGE_H
#define BP_ESTIMATE_UNSEEN_LARGE_H

#include "estimate/rest.h"

/* The samples of one class, all with lambda m >= 1, in the unit of the interval. */
struct bp_large_class {
	double samples; /* s > 0 */
	double missed;	/* n1 > 0: the expected number of unseen objects */
	double c1, c2;	/* mean and variance of what they hold together, >= 0 */
};

#define BP_LARGE_CLASSES_MAX 16

struct bp_unseen {
	struct bp_rest small; /* everything that is not in `large` */
	double unit;	      /* mean of the unseen unit, > 0 */
	struct bp_large_class large[BP_LARGE_CLASSES_MAX];
	unsigned large_count;
};

/* The lower limit of the rest at one-sided error a in (0, 1), sought below `most` only (>= 0, N3's
 * own limit): never above it. */
double bp_unseen_lower(const struct bp_unseen *unseen, double most, double a);

/* The upper limit; INFINITY where the classes hold more than can be counted (no valid record of a
 * class does). */
double bp_unseen_upper(const struct bp_unseen *unseen, double a);

#endif
