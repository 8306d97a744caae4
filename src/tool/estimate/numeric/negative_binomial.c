/* SPDX-License-Identifier: MIT */
/*
 * The negative binomial interval (docs/statistics.md, "The negative binomial interval").
 *
 * X, the failures before success number s, has P(X <= x) = I_p(s, x + 1), p = 1/T. Of every sampled
 * object the trials from its success on are known (m - f, summed: u); what is not known is X, so
 * quantiles of X plus u bound the trials made.
 *
 * Which whole number is "the" quantile. The .NET document says that its table holds the values
 * closest to .025 and .975. It does not: nearest in probability fits 12 rows of its 25 in the one
 * column and 7 in the other. All 50 numbers are the largest whole x with P(X <= x) < probability,
 * that is, the real root of I_p(s, x + 1) = probability cut off to a whole number, and one less
 * than the usual quantile (the smallest x that reaches the probability). That rule is what is
 * computed here. The difference is one byte in hundreds of thousands; it is kept so that the
 * published figures come out to the last digit.
 *
 * The root is near gamma_p_inverse(probability, s)/lambda - s/2 (within 1.5 on every row of the
 * table). From there steps that double find a bracket and halving finds the number, each decided
 * by the smaller one of the two tails. The last unit is right as long as one trial changes the
 * probability by more than its rounding, T sqrt(s) < 10^10.
 *
 * Camp and Paulson: a normal approximation of the F distribution (E. Paulson, Annals of
 * Mathematical Statistics 13, 1942) applied to the incomplete beta function (B. H. Camp, same
 * journal, 22, 1951). As a probability it is as good as published, .0122 at worst for one
 * success; but as a 2.5 % quantile it is 48 % too small there.
 */
#include "estimate/numeric/negative_binomial.h"

#include <assert.h>
#include <math.h>

#include "estimate/numeric/special.h"

/* P(X <= x) or P(X > x), for a whole x >= 0 and successes > 0. */
static double tail_exact(double x, double successes, uint64_t interval, bool upper)
{
	const double p = 1 / (double)interval;
	if (upper)
		return bp_beta_regularized(x + 1, successes, 1 - p, p);
	return bp_beta_regularized(successes, x + 1, p, 1 - p);
}

static double tail_camp_paulson(double x, double successes, uint64_t interval, bool upper)
{
	const double a = 1 / (9 * (x + 1)), b = 1 / (9 * successes);
	/* F = p (x + 1) / (q s), and p / q = 1 / (T - 1) */
	const double root = cbrt((x + 1) / ((double)(interval - 1) * successes));
	const double z = ((1 - a) * root - (1 - b)) / sqrt(root * root * a + b);
	return erfc((upper ? z : -z) / sqrt(2)) / 2;
}

static double tail(
	enum bp_negative_binomial method, double x, double successes, uint64_t interval, bool upper)
{
	if (method == BP_NEGATIVE_BINOMIAL_CAMP_PAULSON)
		return tail_camp_paulson(x, successes, interval, upper);
	return tail_exact(x, successes, interval, upper);
}

double bp_negative_binomial_cdf(
	enum bp_negative_binomial method, double failures, double successes, uint64_t interval)
{
	assert(interval >= 1);
	if (failures < 0)
		return 0;
	if (successes <= 0 || interval == 1) /* no failure is possible */
		return 1;
	return tail(method, floor(failures), successes, interval, false);
}

struct law {
	enum bp_negative_binomial method;
	double probability, successes;
	uint64_t interval;
};

/* Is P(X <= x) < probability? */
static bool is_below(const struct law *law, double x)
{
	if (law->probability <= 0.5)
		return tail(law->method, x, law->successes, law->interval, false) <
		       law->probability;
	return tail(law->method, x, law->successes, law->interval, true) > 1 - law->probability;
}

/* The largest whole x >= 0 below; 0 if there is none. */
static double largest_below(const struct law *law, double start)
{
	double low = start, high = start, step = 1;
	if (is_below(law, start)) {
		high = low + step;
		while (is_below(law, high)) {
			low = high;
			step *= 2;
			high = low + step;
		}
	} else {
		do {
			if (low <= 0)
				return 0;
			high = low;
			low = fmax(0, high - step);
			step *= 2;
		} while (!is_below(law, low));
	}
	while (high - low > 1) {
		double middle = floor(low + (high - low) / 2);
		if (middle <= low || middle >= high) /* beyond 2^53 */
			break;
		if (is_below(law, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

double bp_negative_binomial_quantile(
	enum bp_negative_binomial method, double probability, uint64_t successes, uint64_t interval)
{
	assert(probability > 0 && probability < 1 && interval >= 1);
	if (successes == 0 || interval == 1)
		return 0;
	const struct law law = { method, probability, (double)successes, interval };
	double root = bp_gamma_p_inverse(probability, law.successes) / bp_lambda(interval);
	return largest_below(&law, fmax(0, floor(root - law.successes / 2)));
}

struct bp_interval bp_estimate_negative_binomial(enum bp_negative_binomial method,
	enum bp_window_edges edges, uint64_t samples, double after_hits, uint64_t interval,
	double alpha)
{
	assert(interval >= 1 && alpha > 0 && alpha < 1);
	if (interval == 1)
		return (struct bp_interval){ after_hits, after_hits, after_hits, .exact = true };
	const uint64_t fewer = edges == BP_EDGES_BOTH && samples > 0 ? samples - 1 : samples;
	const uint64_t more = edges == BP_EDGES_AT_SAMPLES ? samples : samples + 1;
	const double low = bp_negative_binomial_quantile(method, alpha / 2, fewer, interval);
	const double high = bp_negative_binomial_quantile(method, 1 - alpha / 2, more, interval);
	const double failures = (double)samples * (double)(interval - 1);
	/* The mean of so skewed a law lies outside its middle 25 % and less: the limits give
	 * way. */
	return (struct bp_interval){ .estimate = failures + after_hits,
		.low = fmin(low, failures) + after_hits,
		.high = fmax(high, failures) + after_hits };
}
