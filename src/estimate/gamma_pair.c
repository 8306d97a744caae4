/* SPDX-License-Identifier: MIT */
/*
 * X / Y and X - Y of two gamma variables.
 *
 * With scale = variance / mean, P(X <= Y) is the incomplete beta function of the two shapes
 * mean^2 / variance at scale_y / (scale_x + scale_y), and so is P(X <= r Y) with r scale_y. Where one
 * of the two is certain an incomplete gamma function is left, whose series takes sqrt(shape) steps;
 * from shape_large on the contour integral of gamma_contour.c stands in for it, which does not. (The
 * fraction of the beta function does not grow like that.)
 *
 * Quantiles are found by Halley's method on the logarithm of the distribution function, whose two
 * derivatives are known. For X / Y in ln r, and for X - Y of shapes >= 1, which is all there is
 * here, that logarithm is concave (the densities are log-concave, and so is what comes of them by
 * integration: Prekopa 1971), so from the left the method climbs without passing the root. Three or
 * four steps do.
 */
#include "estimate/gamma_pair.h"

#include <math.h>
#include <stdbool.h>

#include "estimate/special.h"

static const double shape_large = 1e4;
/* The error of a Halley step is about the cube of the step, in standard deviations. */
static const double step_last = 3e-5;

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

/* P(X <= value), and P(X > value); X not certain. */
static double gamma_at_most(struct bp_gamma x, double value)
{
	if (shape_of(x) > shape_large)
		return exp(bp_gamma_difference_tail(x, value_of(value), 0).log);
	return bp_gamma_p(shape_of(x), value / scale_of(x));
}

static double gamma_exceeds(struct bp_gamma x, double value)
{
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
	if (certain(x) || certain(y)) {
		double value = bp_gamma_difference_quantile(x, value_of(0), a);
		double divisor = -bp_gamma_difference_quantile(value_of(0), y, a);
		return value > 0 ? value / divisor : 0;
	}
	if (a > 0.5)
		return 1 / bp_gamma_ratio_quantile(y, x, 1 - a);
	struct pair pair = { x, y };
	double deviation, start = ratio_start(&pair, a, &deviation);
	return exp(solve(ratio_tail, &pair, log(a), start, -INFINITY, deviation));
}
