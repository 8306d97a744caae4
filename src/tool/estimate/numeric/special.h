/* SPDX-License-Identifier: MIT */
/*
 * The special functions behind every interval: incomplete gamma and beta functions and their
 * inverses, and the normal quantile, in doubles on top of libm. Called by the other files of
 * estimate/ only. Pure and safe to call from any thread.
 *
 * Preconditions of all: shapes a, b > 0 and finite; probabilities in (0, 1); no NaN. The smaller
 * tail is good to 1e-12 relative down to 1e-300, for shapes from .1 (gamma: .01) to 1e9, as
 * measured against an oracle; a small tail must be asked for as itself (Q, not 1 - P), which is why
 * the functions come in pairs. Formulas: docs/statistics.md, "Special functions".
 */
#ifndef BP_ESTIMATE_NUMERIC_SPECIAL_H
#define BP_ESTIMATE_NUMERIC_SPECIAL_H

/* ln Gamma(z) minus Stirling's formula (z - 1/2) ln z - z + ln(2 pi)/2; z > 0. */
double bp_stirling_rest(double z);

/* log1p(x) - x without cancellation near 0; x > -1. */
double bp_log1p_minus(double x);

/* x^a e^-x / Gamma(a): x times the density of the gamma distribution with shape a; x > 0. */
double bp_gamma_prefix(double a, double x);

/* The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x); x <= 0 gives 0, 1.
 */
double bp_gamma_p(double a, double x);
double bp_gamma_q(double a, double x);

/* The x >= 0 with P(a, x) = p, or with Q(a, x) = q (for a small upper tail); 0 if it underflows. */
double bp_gamma_p_inverse(double p, double a);
double bp_gamma_q_inverse(double q, double a);

/* The z with Phi(z) = p. */
double bp_normal_quantile(double p);

/* x^a y^b / B(a, b) with y = 1 - x, both in (0, 1); pass the y that is known best. */
double bp_beta_prefix(double a, double b, double x, double y);

/* The regularized incomplete beta function I_x(a, b), y = 1 - x; x <= 0 gives 0, y <= 0 gives 1.
 * Its other tail is the same function with a, b and x, y exchanged. */
double bp_beta_regularized(double a, double b, double x, double y);

/* The x with I_x(a, b) = p. */
double bp_beta_regularized_inverse(double p, double a, double b);

#endif
