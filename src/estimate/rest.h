/* SPDX-License-Identifier: MIT */
/*
 * The unsampled rest of a key, in bytes or objects, as its limits see it: the heart of the interval
 * N3. Called by interval.c and known_total.c. Pure, safe to call from any thread.
 */
#ifndef BP_ESTIMATE_REST_H
#define BP_ESTIMATE_REST_H

#include <stdbool.h>

#include "estimate/estimate.h"

struct bp_rest {
	double sampled;	   /* what was sampled, and is certain */
	double c1, c2, c3; /* cumulants of what was not */
	double log_pi_sum; /* as in bp_sums */
	bool whole;	   /* certainly objects of one size: the rest is a whole number of them */
};

struct bp_rest bp_rest_of_bytes(const struct bp_sums *sums);
struct bp_rest bp_rest_of_objects(const struct bp_sums *sums);

/* The lower limit of the rest, >= 0, at one-sided error a in (0, 1). */
double bp_rest_lower(const struct bp_rest *rest, double a);

/* Its upper limit, with one unseen unit of mean `unit` >= 0. */
double bp_rest_upper(const struct bp_rest *rest, double unit, double a);

#endif
