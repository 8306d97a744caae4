/* SPDX-License-Identifier: MIT */
/*
 * The beta distribution tilted by an exponential: the law of one of two gamma variables with
 * different scales, given their sum. Called by known_total.c. Pure, safe to call from any thread.
 */
#ifndef BP_ESTIMATE_NUMERIC_TILTED_BETA_H
#define BP_ESTIMATE_NUMERIC_TILTED_BETA_H

/* The a-quantile, 0 < a < 1, of the density proportional to t^(A-1) (1-t)^(B-1) e^(-tilt t) on (0,
 * 1); A, B > 0 are the shapes, `tilt` any finite number. The tail probability is good to about
 * 1e-12. */
double bp_tilted_beta_inverse(double a, double shape_left, double shape_right, double tilt);

#endif
