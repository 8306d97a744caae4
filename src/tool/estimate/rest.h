/* SPDX-License-Identifier: MIT */
/*
 * The unsampled rest of a key, in bytes or objects, as its limits see it: the
 * heart of the interval N3. Called by interval.c and known_total.c. Pure, safe
 * to call from any thread.
 */
#ifndef BP_ESTIMATE_REST_H
#define BP_ESTIMATE_REST_H

#include <stdbool.h>

#include "estimate/estimate.h"

struct bp_rest {
	double sampled;	   /* what was sampled, and is certain */
	double c1, c2, c3; /* cumulants of what was not */
	double log_pi_sum; /* as in bp_sums */
	bool whole;	   /* certainly objects of one size: the rest is a whole number of
                 them */
};

struct bp_rest bp_rest_of_bytes(const struct bp_sums *sums);
struct bp_rest bp_rest_of_objects(const struct bp_sums *sums);

/* The lower limit of the rest, >= 0, at one-sided error a in (0, 1). */
double bp_rest_lower(const struct bp_rest *rest, double a);

/* Its upper limit, with one unseen unit of mean `unit` >= 0. */
double bp_rest_upper(const struct bp_rest *rest, double unit, double a);

/* What the two limits are quantiles of, for the limits of a mixture
 * (unseen_large.c).
 *
 * As the lower limit at error a sees the rest: scale Gamma(shape), or, where
 * kappa > 0, kappa NegBin(r, psi). */
struct bp_rest_law {
	double none; /* P(rest = 0) is at least this */
	double shape, scale;
	double kappa, r, psi;
	bool whole, empty;
};
struct bp_rest_law bp_rest_law_of(const struct bp_rest *rest, double a);

/* P(rest <= x) under that law; 0 below 0. */
double bp_rest_at_most(const struct bp_rest_law *law, double x);

/* P(rest and unseen unit > x) as the upper limit sees it, with `variance`
 * added; 1 up to 0. */
double bp_rest_above(const struct bp_rest *rest, double unit, double variance, double x);

#endif
