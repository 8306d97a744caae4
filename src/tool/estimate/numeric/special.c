/* SPDX-License-Identifier: MIT */
/*
 * Incomplete gamma and beta functions and their inverses.
 *
 * The textbook prefix exp(a ln x - x - ln Gamma(a)) cancels: its relative error is 4e-10 at a = 1e5
 * and 1e-6 at a = 1e9. From shape 16 on the large terms are therefore taken out on paper: with
 * Gamma(a) written as Stirling's formula times exp(rest(a)),
 *
 *     x^a e^-x / Gamma(a) = sqrt(a / 2 pi) exp(a (log1p(t) - t) - rest(a)),   t = (x - a) / a,
 *
 * and likewise for the beta prefix with one such term for each of its two variables. The incomplete
 * functions are that prefix times a series (gamma, left of the mean) or a continued fraction
 * (gamma, right of it; beta), evaluated by Lentz's method: the value is a running product of
 * ratios, one new ratio a step, until a ratio is 1. The number of steps grows like the square root
 * of the shape; it is bounded by steps_max, far above what any reachable shape needs.
 *
 * lgamma writes the global signgam, a data race; lgamma_r is used throughout.
 *
 * Sources: Abramowitz and Stegun 6.1.40 (Stirling), 6.5.29 and 6.5.31 (gamma), 26.4.17 (start of
 * the inverse, after Wilson and Hilferty); Didonato and Morris, ACM TOMS 18 (1992), for the
 * fraction of the beta function; Lentz, Applied Optics 15 (1976).
 */
#include "estimate/numeric/special.h"

#include <float.h>
#include <math.h>

/* From this shape on Stirling's form is used: six terms of its rest leave out 2e-18 there. */
static const double shape_large = 16.0;
static const int steps_max = 1000000;
static const double tiny = 1e-300; /* stands for a zero in Lentz's method */
static const double half_ln_2pi = 0.91893853320467274178;
static const double two_pi = 6.28318530717958647693;

static double ln_gamma(double z)
{
	int sign;
	return lgamma_r(z, &sign);
}

static double not_zero(double value)
{
	return value == 0 ? tiny : value;
}

double bp_stirling_rest(double z)
{
	if (z < shape_large)
		return ln_gamma(z) - ((z - 0.5) * log(z) - z + half_ln_2pi);
	double w = 1 / (z * z), tail = 1.0 / 1680 - w * (1.0 / 1188 - w * (691.0 / 360360));
	return (1.0 / 12 - w * (1.0 / 360 - w * (1.0 / 1260 - w * tail))) / z;
}

double bp_log1p_minus(double x)
{
	if (fabs(x) > 0.3)
		return log1p(x) - x;
	/* log1p(x) = 2 artanh(r), r = x / (2 + x), and 2 r - x = -x r. */
	double r = x / (2 + x), power = 2 * r, sum = 0;
	for (int n = 3; n < 100; n += 2) {
		power *= r * r;
		sum += power / n;
		if (fabs(power) < 1e-18 * fabs(x * r))
			break;
	}
	return sum - x * r;
}

/* log1p(t) - t, given t and ratio = 1 + t: near t = -1 the sum has lost the digits of the ratio. */
static double log_minus(double ratio, double t)
{
	return t < -0.5 ? log(ratio) - t : bp_log1p_minus(t);
}

double bp_gamma_prefix(double a, double x)
{
	if (a < shape_large)
		return exp(a * log(x) - x - ln_gamma(a));
	return sqrt(a / two_pi) * exp(a * log_minus(x / a, (x - a) / a) - bp_stirling_rest(a));
}

/* P(a, x) over its prefix; for x < a + 1. */
static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term, n = a;
	for (int i = 0; i < steps_max && term >= sum * 1e-17; i++) {
		n += 1;
		term *= x / n;
		sum += term;
	}
	return sum;
}

/* Q(a, x) over its prefix; for x >= a + 1. */
static double gamma_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1 / tiny, d = 1 / b, value = d;
	for (int i = 1; i < steps_max; i++) {
		double e = -i * (i - a);
		b += 2;
		d = 1 / not_zero(e * d + b);
		c = not_zero(b + e / c);
		value *= c * d;
		if (fabs(c * d - 1) <= DBL_EPSILON)
			break;
	}
	return value;
}

double bp_gamma_p(double a, double x)
{
	if (x <= 0)
		return 0;
	if (x < a + 1)
		return gamma_series(a, x) * bp_gamma_prefix(a, x);
	return 1 - gamma_fraction(a, x) * bp_gamma_prefix(a, x);
}

double bp_gamma_q(double a, double x)
{
	if (x <= 0)
		return 1;
	if (x < a + 1)
		return 1 - gamma_series(a, x) * bp_gamma_prefix(a, x);
	return gamma_fraction(a, x) * bp_gamma_prefix(a, x);
}

double bp_normal_quantile(double p)
{
	double low = -40, high = 40;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		if (0.5 * erfc(-middle / M_SQRT2) < p)
			low = middle;
		else
			high = middle;
	}
	double z = (low + high) / 2;
	for (int i = 0; i < 2; i++) { /* Halley, on the smaller tail */
		double error =
			p < 0.5 ? 0.5 * erfc(-z / M_SQRT2) - p : (1 - p) - 0.5 * erfc(z / M_SQRT2);
		double step = error * sqrt(two_pi) * exp(z * z / 2);
		z -= step / (1 + z * step / 2);
	}
	return z;
}

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* The Wilson-Hilferty start: the cube root of a gamma variable is nearly normal. Far in the left
 * tail of a small shape, where it is not, P(a, x) is nearly x^a / Gamma(a + 1). */
static double gamma_inverse_start(double p, double q, double a)
{
	double z = p < 0.5 ? bp_normal_quantile(p) : -bp_normal_quantile(q);
	double t = 1 - 1 / (9 * a) + z / (3 * sqrt(a));
	return t > 0.2 ? a * t * t * t : exp((log(p) + ln_gamma(a + 1)) / a);
}

/* Halley's method inside a bracket, on whichever of p and q = 1 - p is the smaller. */
static double gamma_inverse(double p, double q, double a)
{
	double x = gamma_inverse_start(p, q, a), low = 0, high = INFINITY;
	for (int i = 0; i < 2000 && x > 0; i++) {
		double error = p < 0.5 ? bp_gamma_p(a, x) - p : q - bp_gamma_q(a, x);
		if (error > 0)
			high = x;
		else
			low = x;
		double density = bp_gamma_prefix(a, x) / x;
		double curvature = clamp(error / density * ((a - 1) / x - 1), -1, 1);
		double step = error / density / (1 - 0.5 * curvature);
		if (fabs(step) <= 1e-14 * x)
			return x - step;
		double next = x - step;
		if (!(density > 0) || !(next > low && next < high))
			next = isinf(high) ? 2 * x : (low + high) / 2;
		if (next == x)
			return x;
		x = next;
	}
	return x;
}

double bp_gamma_p_inverse(double p, double a)
{
	return gamma_inverse(p, 1 - p, a);
}

double bp_gamma_q_inverse(double q, double a)
{
	return gamma_inverse(1 - q, q, a);
}

/* ln Gamma(a + b) - ln Gamma(a) for a >= shape_large, any b > 0. */
static double gamma_ratio_log(double a, double b)
{
	return (a - 0.5) * log1p(b / a) + b * (log(a + b) - 1) + bp_stirling_rest(a + b) -
	       bp_stirling_rest(a);
}

/* b x - a y to the last digit, however near x is to the mean a / (a + b): the rounding errors of
 * both products are taken out (Kahan). fma is libm's, exact on every processor. */
static double distance_from_mean(double a, double b, double x, double y)
{
	double right = a * y, error = fma(a, y, -right);
	return fma(b, x, -right) - error;
}

double bp_beta_prefix(double a, double b, double x, double y)
{
	if (a >= shape_large && b >= shape_large) {
		double n = a + b, difference = distance_from_mean(a, b, x, y);
		double exponent = a * log_minus(x * (n / a), difference / a) +
				  b * log_minus(y * (n / b), -difference / b) +
				  bp_stirling_rest(n) - bp_stirling_rest(a) - bp_stirling_rest(b);
		return sqrt(a / n * b / two_pi) * exp(exponent);
	}
	double powers = a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x));
	if (a >= shape_large)
		return exp(gamma_ratio_log(a, b) - ln_gamma(b) + powers);
	if (b >= shape_large)
		return exp(gamma_ratio_log(b, a) - ln_gamma(a) + powers);
	return exp(ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + powers);
}

/* The m-th partial denominator of the fraction of beta_fraction; first = a y - b x + 1. */
static double beta_denominator(double a, double b, double x, double first, double m)
{
	return m + m * (b - m) * x / (a + 2 * m - 1) +
	       (a + m) * (first + m * (2 - x)) / (a + 2 * m + 1);
}

/* The prefix over I_x(a, b); for x below about the mean, where it converges fast. */
static double beta_fraction(double a, double b, double x, double y)
{
	double first = 1 - distance_from_mean(a, b, x, y);
	double value = not_zero(a * first / (a + 1)), c = value, d = 0;
	for (int i = 1; i < steps_max; i++) {
		double m = i, odd = a + 2 * m - 1;
		double e = (a + m - 1) * (a + b + m - 1) / odd * m * (b - m) / odd * x * x;
		double denominator = beta_denominator(a, b, x, first, m);
		d = 1 / not_zero(denominator + e * d);
		c = not_zero(denominator + e / c);
		value *= c * d;
		if (fabs(c * d - 1) <= DBL_EPSILON)
			break;
	}
	return value;
}

double bp_beta_regularized(double a, double b, double x, double y)
{
	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	if (x < (a + 1) / (a + b + 2))
		return bp_beta_prefix(a, b, x, y) / beta_fraction(a, b, x, y);
	return 1 - bp_beta_prefix(b, a, y, x) / beta_fraction(b, a, y, x);
}

double bp_beta_regularized_inverse(double p, double a, double b)
{
	double low = 0, high = 1;
	for (int i = 0; i < 1100; i++) {
		double middle = (low + high) / 2;
		if (middle <= low || middle >= high)
			break;
		if (bp_beta_regularized(a, b, middle, 1 - middle) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}
