/* SPDX-License-Identifier: MIT */
/*
 * X / Y and X - Y of two gamma variables.
 *
 * With scale = variance / mean, P(X <= Y) is the incomplete beta function of the two shapes mean^2
 * / variance at scale_y / (scale_x + scale_y), and so is P(X <= r Y) with r scale_y. Where one of
 * the two is certain an incomplete gamma function is left, whose series takes sqrt(shape) steps;
 * from shape_large on the contour integral of gamma_contour.c stands in for it, which does not.
 * (The fraction of the beta function does not grow like that.)
 *
 * Quantiles are found by Halley's method on the logarithm of the distribution function, whose two
 * derivatives are known. For X / Y in ln r, and for X - Y of shapes >= 1, which is all there is
 * here, that logarithm is concave (the densities are log-concave, and so is what comes of them by
 * integration: Prekopa 1971), so from the left the method climbs without passing the root. Three or
 * four steps do.
 *
 * (X + x) / (Y + y) with certain x and y is at most r where X - r Y is at most r y - x: a contour
 * integral again, of which the derivative in r is not at hand. Its root is found by secants.
 */
#include "estimate/numeric/gamma_pair.h"

#include <math.h>
#include <stdbool.h>

#include "estimate/numeric/special.h"

static const double shape_large = 1e4;
/* The error of a Halley step is about the cube of the step, in standard deviations. */
static const double step_last = 3e-5;
/* A secant step from a tail so near to its level is off by the square of that, at most. */
static const double secant_last = 1e-6;
static const double sqrt_2_pi = 2.50662827463100050242;

static bool certain(struct bp_gamma x)
{
	return !(x.variance > 0) || !(x.mean > 0);
}

static double shape_of(struct bp_gamma x)
{
	return x.mean / x.variance * x.mean;
}

static double scale_of(struct bp_gamma x)
{
	return x.variance / x.mean;
}

static struct bp_gamma value_of(double value)
{
	return (struct bp_gamma){ fmax(value, 0), 0 };
}

/* Is the tail of X beyond `value`, on that side of the mean, below the smallest double? By
 * Chernoff's bound, exp(shape (1 + ln r - r)) at r times the mean. Far left the path of the contour
 * is lost in rounding long before. */
static bool tail_underflows(struct bp_gamma x, double value)
{
	double r = value / x.mean;
	return shape_of(x) * (1 + log(r) - r) < -750;
}

/* P(X <= value), and P(X > value); X not certain, value > 0. */
static double gamma_at_most(struct bp_gamma x, double value)
{
	if (tail_underflows(x, value))
		return value < x.mean ? 0 : 1;
	if (shape_of(x) > shape_large)
		return exp(bp_gamma_difference_tail(x, value_of(value), 0).log);
	return bp_gamma_p(shape_of(x), value / scale_of(x));
}

static double gamma_exceeds(struct bp_gamma x, double value)
{
	if (tail_underflows(x, value))
		return value < x.mean ? 1 : 0;
	if (shape_of(x) > shape_large)
		return exp(bp_gamma_difference_tail(value_of(value), x, 0).log);
	return bp_gamma_q(shape_of(x), value / scale_of(x));
}

double bp_gamma_at_most(struct bp_gamma x, struct bp_gamma y)
{
	if (certain(x) && certain(y))
		return x.mean <= y.mean ? 1 : 0;
	if (certain(x))
		return x.mean > 0 ? gamma_exceeds(y, x.mean) : 1;
	if (certain(y))
		return y.mean > 0 ? gamma_at_most(x, y.mean) : 0;
	double sum = scale_of(x) + scale_of(y);
	return bp_beta_regularized(shape_of(x), shape_of(y), scale_of(y) / sum, scale_of(x) / sum);
}

double bp_gamma_exceeds(struct bp_gamma x, struct bp_gamma y)
{
	if (certain(x) && certain(y))
		return x.mean > y.mean ? 1 : 0;
	if (certain(x))
		return x.mean > 0 ? gamma_at_most(y, x.mean) : 0;
	if (certain(y))
		return y.mean > 0 ? gamma_exceeds(x, y.mean) : 1;
	double sum = scale_of(x) + scale_of(y);
	return bp_beta_regularized(shape_of(y), shape_of(x), scale_of(x) / sum, scale_of(y) / sum);
}

/* Does d change P(X <= Y) and P(X > Y) by less than 1e-10 of each? By the density of X - Y at 0,
 * which is a beta prefix too. */
static bool negligible(struct bp_gamma x, struct bp_gamma y, double d, struct bp_tails at_zero)
{
	const double share = 1e-10;
	double a = shape_of(x), b = shape_of(y), sum = scale_of(x) + scale_of(y);
	if (d == 0)
		return true;
	if (!(a + b > 1.5))
		return false;
	double density = bp_beta_prefix(a, b, scale_of(y) / sum, scale_of(x) / sum) * sum /
			 scale_of(x) / scale_of(y) / (a + b - 1);
	return density * fabs(d) <= share * fmin(at_zero.at_most, at_zero.exceeds);
}

/* So many deviations out a tail is below the smallest double, and what computes it overflows. It
 * falls at least like exp(-z sqrt(shape) / 3) for z > sqrt(shape), else like that of a normal
 * law. */
static const double reach = 5000;

static double root_of_shape(struct bp_gamma x)
{
	return certain(x) ? 1 : fmin(1, sqrt(shape_of(x)));
}

/* Is P(X > value) that small? */
static bool beyond(struct bp_gamma x, double value)
{
	if (certain(x))
		return value > x.mean;
	return (value - x.mean) / sqrt(x.variance) * root_of_shape(x) > reach;
}

/* Is it, because X <= x and Y > x - d both are, with x half of the mean of X? */
static bool far_apart(struct bp_gamma x, struct bp_gamma y, double d)
{
	double half = x.mean / 2;
	if (certain(x) || certain(y) || !(half - d > y.mean))
		return false;
	return tail_underflows(x, half) && tail_underflows(y, half - d);
}

/* Is P(X - Y <= d) that small, by the distance from the mean, or because -Y is not? */
static bool surely_above(struct bp_gamma x, struct bp_gamma y, double d)
{
	double root = fmin(root_of_shape(x), root_of_shape(y));
	double deviation = sqrt(x.variance + y.variance);
	if ((d < 0 && beyond(y, -d)) || far_apart(x, y, d))
		return true;
	return (x.mean - y.mean - d) * root > reach * deviation;
}

struct bp_tails bp_gamma_difference_tails(struct bp_gamma x, struct bp_gamma y, double d)
{
	if (surely_above(x, y, d))
		return (struct bp_tails){ 0, 1 };
	if (surely_above(y, x, -d) && !(certain(x) && certain(y)))
		return (struct bp_tails){ 1, 0 };
	if (certain(x) || certain(y)) {
		struct bp_gamma least = value_of(x.mean - d), most = value_of(y.mean + d);
		if (!certain(y))
			return (struct bp_tails){ bp_gamma_at_most(least, y),
				bp_gamma_exceeds(least, y) };
		if (!certain(x) && y.mean + d > 0)
			return (struct bp_tails){ bp_gamma_at_most(x, most),
				bp_gamma_exceeds(x, most) };
		bool reached = certain(x) && x.mean - y.mean <= d;
		return (struct bp_tails){ reached ? 1 : 0, reached ? 0 : 1 };
	}
	/* A larger d is not negligible, and the beta functions need not be tried. */
	double deviation = sqrt(x.variance + y.variance);
	if (fabs(d) <= 1e-9 * deviation) {
		struct bp_tails at_zero = { bp_gamma_at_most(x, y), bp_gamma_exceeds(x, y) };
		if (negligible(x, y, d, at_zero))
			return at_zero;
	}
	double log_tail = bp_gamma_difference_tail(x, y, d).log;
	return (struct bp_tails){ exp(log_tail), -expm1(log_tail) };
}

struct pair {
	struct bp_gamma x, y;
};

/* F(r) = P(X / Y <= r) as a function of ln r: its density there is the beta prefix. */
static struct bp_tail ratio_tail(const struct pair *pair, double log_ratio)
{
	double a = shape_of(pair->x), b = shape_of(pair->y);
	double odds = exp(log_ratio) * scale_of(pair->y) / scale_of(pair->x);
	double at = odds / (1 + odds), rest = 1 / (1 + odds);
	double probability = bp_beta_regularized(a, b, at, rest);
	struct bp_tail tail = { log(probability), 0, 0 };
	if (probability > 0) {
		tail.slope = bp_beta_prefix(a, b, at, rest) / probability;
		tail.curvature = tail.slope * (a * rest - b * at - tail.slope);
	}
	return tail;
}

static struct bp_tail difference_tail(const struct pair *pair, double d)
{
	return bp_gamma_difference_tail(pair->x, pair->y, d);
}

/* Where ln F is `level`, by Halley's method in a bracket; F is 0 at `low`. `width`: a step to take
 * where the tail says nothing. */
static double solve(struct bp_tail (*tail)(const struct pair *pair, double at),
	const struct pair *pair, double level, double start, double low, double width)
{
	double high = INFINITY, at = start;
	for (int i = 0; i < 200; i++) {
		struct bp_tail found = tail(pair, at);
		double newton = (level - found.log) / found.slope;
		double bend = -newton * found.curvature / found.slope;
		double next = at + newton / fmax(0.5, 1 - 0.5 * bend);
		if (fabs(next - at) * found.slope <= step_last)
			return next;
		if (found.log > level)
			high = at;
		else
			low = at;
		if (!(next > low && next < high)) {
			next = (low + high) / 2;
			if (isinf(next))
				next = isinf(high) ? low + width : high - width;
			width *= 2;
		}
		at = next;
	}
	return at;
}

/* The a-quantile of X - Y to two or three digits, by Cornish and Fisher's first term. */
static double difference_start(const struct pair *pair, double a, double *ret_deviation)
{
	struct bp_gamma x = pair->x, y = pair->y;
	double variance = x.variance + y.variance, deviation = sqrt(variance), third = 0;
	*ret_deviation = deviation;
	if (!certain(x))
		third += 2 * x.variance / variance * scale_of(x) / deviation;
	if (!certain(y))
		third -= 2 * y.variance / variance * scale_of(y) / deviation;
	double z = bp_normal_quantile(a);
	return x.mean - y.mean + deviation * (z + third * (z * z - 1) / 6);
}

double bp_gamma_difference_quantile(struct bp_gamma x, struct bp_gamma y, double a)
{
	if (certain(x) && certain(y))
		return x.mean - y.mean;
	if (certain(x) && shape_of(y) <= shape_large)
		return x.mean - scale_of(y) * bp_gamma_q_inverse(a, shape_of(y));
	if (certain(y) && shape_of(x) <= shape_large)
		return scale_of(x) * bp_gamma_p_inverse(a, shape_of(x)) - y.mean;
	if (a > 0.5)
		return -bp_gamma_difference_quantile(y, x, 1 - a);
	struct pair pair = { x, y };
	double low = certain(y) ? -y.mean : -INFINITY;
	double deviation, start = difference_start(&pair, a, &deviation);
	if (!(start > low))
		start = (low + x.mean - y.mean) / 2;
	return solve(difference_tail, &pair, log(a), start, low, deviation);
}

/* The a-quantile of ln(X / Y), roughly: 1/h + 1/(2 h^2) is nearly the variance of the logarithm of
 * a gamma variable of shape h, -1/(2 h) its mean less the logarithm of the mean. */
static double ratio_start(const struct pair *pair, double a, double *ret_deviation)
{
	double x = 1 / shape_of(pair->x), y = 1 / shape_of(pair->y);
	double deviation = sqrt(x + y + (x * x + y * y) / 2);
	*ret_deviation = deviation;
	return log(pair->x.mean / pair->y.mean) - (x - y) / 2 + deviation * bp_normal_quantile(a);
}

double bp_gamma_ratio_quantile(struct bp_gamma x, struct bp_gamma y, double a)
{
	if (certain(x) || certain(y))
		return bp_gamma_shifted_ratio_quantile(x, 0, y, 0, a);
	if (a > 0.5)
		return 1 / bp_gamma_ratio_quantile(y, x, 1 - a);
	struct pair pair = { x, y };
	double deviation, start = ratio_start(&pair, a, &deviation);
	return exp(solve(ratio_tail, &pair, log(a), start, -INFINITY, deviation));
}

/* ln P((X + x_more) / (Y + y_more) <= r). */
static double shifted_log(const struct pair *pair, double x_more, double y_more, double log_ratio)
{
	double r = exp(log_ratio);
	struct bp_gamma stretched = { r * pair->y.mean, r * pair->y.variance * r };
	return bp_gamma_difference_tail(pair->x, stretched, r * y_more - x_more).log;
}

/* As if the logarithm of the ratio were normal, with this deviation; *ret_slope of ln F there. */
static double shifted_start(const struct pair *pair, double x_more, double y_more, double a,
	double *ret_deviation, double *ret_slope)
{
	double x = pair->x.mean + x_more, y = pair->y.mean + y_more;
	double variance = pair->x.variance / x / x + pair->y.variance / y / y;
	double z = bp_normal_quantile(a), deviation = sqrt(log1p(variance));
	*ret_deviation = deviation;
	*ret_slope = exp(-z * z / 2) / (sqrt_2_pi * a * deviation);
	return log(x / y) + deviation * z;
}

/* How near ln F can be brought to its level: at far lower tails of X the rounding of the means
 * counts, and a secant through two rounding errors leads nowhere. */
static double attainable(const struct pair *pair, double y_more, double log_ratio, double slope)
{
	double r = exp(log_ratio), y = pair->y.mean;
	return fmax(secant_last, 4e-16 * slope * (pair->x.mean / r + y) / (y + y_more));
}

/* Where it is ln a. Secants, after a first step by the slope of a normal law, within a bracket and
 * not farther than a few deviations: ln F is steep on one side and flat on the other. */
static double solve_shifted(const struct pair *pair, double x_more, double y_more, double a)
{
	double low = -INFINITY, high = INFINITY, level = log(a), slope, deviation;
	double at = shifted_start(pair, x_more, y_more, a, &deviation, &slope);
	double last = at, last_value = 0;
	for (int i = 0; i < 200; i++) {
		double value = shifted_log(pair, x_more, y_more, at) - level;
		if (value > 0)
			high = at;
		else
			low = at;
		if (at != last && isfinite(value - last_value) && value != last_value)
			slope = (value - last_value) / (at - last);
		double step = fmax(-3 * deviation, fmin(3 * deviation, -value / slope));
		if (fabs(value) <= attainable(pair, y_more, at, slope) || high - low <= 1e-15)
			return at + step;
		last = at;
		last_value = value;
		at += step;
		if (!(at > low && at < high))
			at = (low + high) / 2;
	}
	return at;
}

double bp_gamma_shifted_ratio_quantile(
	struct bp_gamma x, double x_more, struct bp_gamma y, double y_more, double a)
{
	if (certain(x) || certain(y)) {
		double value = x_more + bp_gamma_difference_quantile(x, value_of(0), a);
		double divisor = y_more - bp_gamma_difference_quantile(value_of(0), y, a);
		return value > 0 ? value / divisor : 0;
	}
	if (x_more == 0 && y_more == 0)
		return bp_gamma_ratio_quantile(x, y, a);
	if (a > 0.5)
		return 1 / bp_gamma_shifted_ratio_quantile(y, y_more, x, x_more, 1 - a);
	struct pair pair = { x, y };
	return exp(solve_shifted(&pair, x_more, y_more, a));
}
