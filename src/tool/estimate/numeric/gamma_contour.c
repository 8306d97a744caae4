/* SPDX-License-Identifier: MIT */
/*
 * P(X - Y <= d) for independent gamma variables X and Y of any shapes and scales.
 *
 * There is no closed form but for d = 0 (an incomplete beta function), and the convolution of the
 * two costs an incomplete gamma function per node. The generating function of X - Y, though, is
 * elementary, and the tail is an integral of it along a line left of 0 in the complex plane:
 *
 *     P(X - Y <= d) = 1/(2 pi i) * integral of exp(E(t)) dt,    E(t) = K(t) - t d - ln(-t),
 *     K(t) = -h_x ln(1 - b_x t) - h_y ln(1 + b_y t),            h shape, b scale.
 *
 * Everything is centred and measured in standard deviations first, so that K(t) begins with t^2/2
 * and nothing cancels however large a shape is: with l(z) = (ln(1 + z) - z) / z^2 and v the share
 * of the variance,
 *
 *     K(t) = -t^2 (v_x l(-b_x t) + v_y l(b_y t)),
 *
 * which holds for a certain value too (v = b = 0).
 *
 * On the real axis, between the branch point -1/b_y and the pole 0, E has one saddle t_0. The line
 * is bent into the path of steepest descent through it, where E is real: E(t) = E(t_0) - v^2, and v
 * is the variable of integration,
 *
 *     P = exp(E(t_0)) / pi * integral over v > 0 of exp(-v^2) Im(dt/dv) dv,   dt/dv = -2 v / E'(t).
 *
 * So the tail, however small, is a factor taken out, what is left is of order 1 and does not
 * oscillate, and it is the same smooth integral for shape 1 and shape 1e18. It is even in v; the
 * trapezoidal rule converges exponentially on it, and some 40 nodes leave an error of 1e-12. The
 * next t is predicted by two slopes and then corrected by Newton's method. The derivatives in d are
 * the same integral with the factors -t and t^2; for two shapes of 1 the second does not exist at
 * d = 0 and is only roughly right near it, which costs a quantile one more step.
 *
 * Sources: Daniels, Ann. Math. Stat. 25 (1954), for the saddle; Gil, Segura and Temme, Numerical
 * Methods for Special Functions (2007), chapter 5, for the path and the trapezoidal rule.
 */
#include "estimate/numeric/gamma_pair.h"

#include <complex.h>
#include <math.h>

static const double pi = 3.14159265358979323846;
static const double node_distance = 1.0 / 6;
static const int nodes_max = 48; /* at v = 8 exp(-v^2) is 2e-28 */

/* X - Y, centred and divided by its standard deviation. */
struct difference {
	double share_x, share_y; /* of the variance; sum 1 */
	double scale_x, scale_y; /* variance / mean, in standard deviations; 0 if certain */
	double at;		 /* d */
};

static double complex complex_of(double real, double imaginary)
{
	return real + imaginary * I;
}

/* (ln(1 + z) - z) / z^2. */
static double complex log_rest(double complex z)
{
	double x = creal(z), y = cimag(z), size = fabs(x) + fabs(y);
	if (size < 0.05) {
		double complex sum = 0;
		for (int n = size < 1e-3 ? 7 : 13; n >= 2; n--)
			sum = sum * -z - 1.0 / n;
		return sum;
	}
	double complex logarithm = complex_of(0.5 * log1p(x * (2 + x) + y * y), atan2(y, 1 + x));
	return (logarithm - z) / (z * z);
}

/* E(t), for t above the real axis, or on it between -1/b_y and 0. */
static double complex exponent(const struct difference *difference, double complex t)
{
	double complex rest = 0;
	if (difference->share_x > 0)
		rest += difference->share_x * log_rest(-difference->scale_x * t);
	if (difference->share_y > 0)
		rest += difference->share_y * log_rest(difference->scale_y * t);
	double complex log_minus_t = complex_of(log(cabs(t)), atan2(-cimag(t), -creal(t)));
	return -t * (t * rest + difference->at) - log_minus_t;
}

/* E'(t). */
static double complex slope(const struct difference *difference, double complex t)
{
	return t * (difference->share_x / (1 - difference->scale_x * t) +
			   difference->share_y / (1 + difference->scale_y * t)) -
	       difference->at - 1 / t;
}

/* E''(t) at real t. */
static double curvature(const struct difference *difference, double t)
{
	double x = 1 - difference->scale_x * t, y = 1 + difference->scale_y * t;
	return difference->share_x / (x * x) + difference->share_y / (y * y) + 1 / (t * t);
}

/* The saddle: E' rises from -infinity to infinity between -1/b_y and 0. Newton in a bracket. */
static double find_saddle(const struct difference *difference)
{
	double low = difference->scale_y > 0 ? -1 / difference->scale_y : -INFINITY, high = 0;
	double t = fmax(low / 2, fmin(-1, difference->at));
	for (int i = 0; i < 200; i++) {
		double value = creal(slope(difference, t)), next = t;
		if (value > 0)
			high = t;
		else
			low = t;
		next -= value / curvature(difference, t);
		if (!(next > low && next < high))
			next = isinf(low) ? 2 * t : (low + high) / 2;
		if (fabs(next - t) <= 1e-15 * fabs(t))
			return next;
		t = next;
	}
	return t;
}

/* The t near `t` with E(t) = level. */
static double complex follow(const struct difference *difference, double complex t, double level)
{
	for (int i = 0; i < 20; i++) {
		double complex move = (exponent(difference, t) - level) / slope(difference, t);
		t -= move;
		if (cabs(move) <= 1e-8 * cabs(t)) /* the next one would be the square of it */
			break;
	}
	return t;
}

/* ln P(difference <= at) and its derivatives for `at` <= 0, that is left of the mean. */
static struct bp_tail lower_tail(const struct difference *difference)
{
	double saddle = find_saddle(difference), top = creal(exponent(difference, saddle));
	double complex speed = complex_of(0, sqrt(2 / curvature(difference, saddle))),
		       before = speed;
	double complex t = saddle;
	double sum = cimag(speed) / 2, sum_1 = -saddle * sum, sum_2 = saddle * saddle * sum;
	for (int i = 1; i < nodes_max; i++) {
		double v = i * node_distance, weight = exp(-v * v);
		double complex guess = t + node_distance * (1.5 * speed - 0.5 * before);
		t = follow(difference, guess, top - v * v);
		before = speed;
		speed = -2 * v / slope(difference, t);
		double complex first = -t * speed, second = -t * first;
		sum += weight * cimag(speed);
		sum_1 += weight * cimag(first);
		sum_2 += weight * cimag(second);
		if (weight * cabs(speed) < 1e-16 * sum)
			break;
	}
	struct bp_tail tail = { top + log(sum * node_distance / pi), sum_1 / sum, 0 };
	tail.curvature = sum_2 / sum - tail.slope * tail.slope;
	return tail;
}

struct bp_tail bp_gamma_difference_tail(struct bp_gamma x, struct bp_gamma y, double d)
{
	double deviation = sqrt(x.variance + y.variance);
	struct difference difference = {
		.share_x = x.variance / deviation / deviation,
		.share_y = y.variance / deviation / deviation,
		.scale_x = x.variance > 0 ? x.variance / x.mean / deviation : 0,
		.scale_y = y.variance > 0 ? y.variance / y.mean / deviation : 0,
		.at = (d - (x.mean - y.mean)) / deviation,
	};
	if (!(y.variance > 0) && d <= -y.mean)
		return (struct bp_tail){ -INFINITY, 0, 0 };
	if (!(x.variance > 0) && d >= x.mean)
		return (struct bp_tail){ 0, 0, 0 };
	struct bp_tail tail;
	if (difference.at <= 0) {
		tail = lower_tail(&difference);
	} else {
		/* Right of the mean the other tail, that of Y - X, is the smaller one, Q:
		 * (ln(1 - Q))' = -Q' / (1 - Q), and each derivative changes the sign of d. */
		struct difference other = { difference.share_y, difference.share_x,
			difference.scale_y, difference.scale_x, -difference.at };
		struct bp_tail upper = lower_tail(&other);
		double odds = 1 / expm1(-upper.log), first = odds * upper.slope;
		double second = odds * (upper.curvature + upper.slope * upper.slope);
		tail = (struct bp_tail){ log1p(-exp(upper.log)), first, -second - first * first };
	}
	tail.slope /= deviation;
	tail.curvature /= deviation * deviation;
	return tail;
}
