/* SPDX-License-Identifier: MIT */
/*
 * Two independent gamma variables X and Y against each other: tails and quantiles of X / Y and of
 * X - Y. What comparing two profiles comes down to. Called by compare.c and diff_runs.c. Pure,
 * safe to call from any thread.
 *
 * Preconditions: means and variances finite and >= 0; probabilities a in (0, 1). Variance 0 is a
 * certain value, and so is mean 0. Probabilities are good to 1e-11 relative, below 1e-30 to 1e-10
 * (a small one must be asked for as itself, which is why they come as a pair), quantiles to 1e-10
 * of the standard deviation; the time does not grow with the shapes.
 */
#ifndef BP_ESTIMATE_NUMERIC_GAMMA_PAIR_H
#define BP_ESTIMATE_NUMERIC_GAMMA_PAIR_H

struct bp_gamma {
	double mean, variance;
};

/* P(X <= Y), and P(X > Y). */
double bp_gamma_at_most(struct bp_gamma x, struct bp_gamma y);
double bp_gamma_exceeds(struct bp_gamma x, struct bp_gamma y);

/* P(X - Y <= d), and the rest of it, P(X - Y > d): each good as itself. About 12 us, or .5 us where
 * d is so small that P(X <= Y) is the same to 1e-10. */
struct bp_tails {
	double at_most, exceeds;
};

struct bp_tails bp_gamma_difference_tails(struct bp_gamma x, struct bp_gamma y, double d);

/* The a-quantile of X / Y, >= 0; INFINITY where Y is certainly 0 and the quantile of X is not; 0
 * where both are 0. */
double bp_gamma_ratio_quantile(struct bp_gamma x, struct bp_gamma y, double a);

/* The a-quantile of (X + x_more) / (Y + y_more), with certain x_more, y_more >= 0; likewise. */
double bp_gamma_shifted_ratio_quantile(
	struct bp_gamma x, double x_more, struct bp_gamma y, double y_more, double a);

/* The a-quantile of X - Y. */
double bp_gamma_difference_quantile(struct bp_gamma x, struct bp_gamma y, double a);

/* ln F and its first two derivatives, F a distribution function. */
struct bp_tail {
	double log, slope, curvature;
};

/* F(d) = P(X - Y <= d), by integration in the complex plane (gamma_contour.c); `log` is -INFINITY
 * where F is 0. Not both variables may be certain. */
struct bp_tail bp_gamma_difference_tail(struct bp_gamma x, struct bp_gamma y, double d);

#endif
