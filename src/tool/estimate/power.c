/* SPDX-License-Identifier: MIT */
/*
 * Power: with which probability a test will find what is there (docs/statistics.md, "Planning").
 * For small objects the number of samples of a figure of N bytes is Poisson with mean N/T.
 *
 * Change. Given the samples n of both sides, those of the new side are under "no change" binomial
 * with probability 1/2, and the melded p-value of compare.h is the tail of that. So with b samples
 * before the test rejects from a critical number c(b) after on, which grows with b. The power is
 * the sum over b of Poisson(b; N/T) P(Poisson(F N/T) >= c(b)): as many terms as b has likely
 * values, however large the factor F is.
 *
 * Check. The lower bound exceeds a limit of mu samples if s is at least the smallest c with
 * P(Poisson(mu) >= c) < a; the upper bound is within it if s is at most the largest c with
 * P(Poisson(mu) <= c) <= a. Both c are whole, so the power goes up and down in teeth as mu grows;
 * what is wanted is the mu from which on all teeth are high enough, and that is looked for at their
 * lowest points, where c changes.
 */
#include "estimate/plan.h"

#include <assert.h>
#include <math.h>

#include "estimate/numeric/special.h"

/* Beyond, the normal approximation has an error of less than .1 % of the samples. */
static const double samples_exact_max = 20000;
/* Standard deviations of the samples before that are summed: the rest is 6e-8. */
static const double deviations = 5.5;

/* P(at least `after` of the samples of both sides are on the new one), if each is with probability
 * 1/2. */
static double chance_of(double before, double after)
{
	return after < 1 ? 1 : bp_beta_regularized(after, before + 1, 0.5, 0.5);
}

static double normal_tail(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

/* The samples before at which a growth by `factor` is found with the standardised distance z:
 * square roots of counts have the variance 1/4; the second term is the correction for whole
 * numbers. */
static double samples_normal(double z, double factor)
{
	double distance = sqrt(factor) - 1;
	return z * z / (2 * distance * distance) + 2 / (factor - 1);
}

static double power_normal(double samples, double factor, double a)
{
	double distance = sqrt(factor) - 1;
	double z = sqrt(2 * fmax(0, samples - 2 / (factor - 1))) * distance;
	return normal_tail(-bp_normal_quantile(a) - z);
}

/* The smallest number of samples after that is significantly more than `before`, looked for from
 * `least` on, which is not above it. */
static double critical_after(double before, double least, double a)
{
	double low = least - 1, high = least, step = 1;
	while (chance_of(before, high) > a) {
		low = high;
		high += step;
		step *= 2;
	}
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (chance_of(before, middle) > a)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Growth by factor > 1. */
static double growth_power(double samples, double factor, double a)
{
	if (samples > samples_exact_max)
		return power_normal(samples, factor, a);
	double width = deviations * sqrt(samples) + 10, critical = 1, sum = 0;
	for (double n = floor(fmax(0, samples - width)); n <= samples + width; n++) {
		critical = critical_after(n, critical, a);
		double probability = bp_gamma_prefix(n + 1, samples) / samples;
		sum += probability * bp_gamma_p(critical, factor * samples);
	}
	return sum;
}

double bp_plan_change_power(double samples, double factor, double level)
{
	assert(samples > 0 && factor > 0 && factor != 1);
	/* What shrinks has grown from where it is now. */
	return factor > 1 ? growth_power(samples, factor, level / 2)
			  : growth_power(samples * factor, 1 / factor, level / 2);
}

/* The smallest whole number of samples before. The power has small teeth; the search starts near
 * enough to the answer that they do not mislead it. */
static double samples_for_growth(double factor, double power, double level)
{
	double z = -bp_normal_quantile(level / 2) + bp_normal_quantile(power);
	double guess = samples_normal(fmax(z, 0.1), factor);
	if (guess > samples_exact_max)
		return ceil(guess);
	double low = floor(guess * 0.8), high = ceil(guess * 1.2) + 1;
	while (low > 0 && growth_power(low, factor, level / 2) >= power)
		low = floor(low / 2);
	while (growth_power(high, factor, level / 2) < power)
		high *= 2;
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (growth_power(middle, factor, level / 2) >= power)
			high = middle;
		else
			low = middle;
	}
	return high;
}

uint64_t bp_plan_samples_for_change(double factor, double power, double level)
{
	assert(factor > 0 && factor != 1);
	if (factor > 1)
		return (uint64_t)samples_for_growth(factor, power, level);
	return (uint64_t)ceil(samples_for_growth(1 / factor, power, level) / factor);
}

double bp_plan_smallest_change(double samples, double power, double level)
{
	assert(samples > 0);
	double low = 1, high = 2;
	while (high < 1e9 && growth_power(samples, high, level / 2) < power) {
		low = high;
		high *= 2;
	}
	while (high / low > 1 + 1e-4 * (high - 1) / high) {
		double middle = (low + high) / 2;
		if (growth_power(samples, middle, level / 2) < power)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The whole number of samples from which on (up to which) a limit of `limit_samples` is exceeded
 * (is not: -1 if none is few enough). */
static double critical_samples(enum bp_plan_outcome outcome, double limit_samples, double a)
{
	double low = 0, high = 1;
	if (outcome == BP_PLAN_EXCEEDED) {
		while (bp_gamma_p(high, limit_samples) > a)
			high *= 2;
		while (high - low > 1) {
			double middle = floor((low + high) / 2);
			if (bp_gamma_p(middle, limit_samples) > a)
				low = middle;
			else
				high = middle;
		}
		return high;
	}
	if (bp_gamma_q(1, limit_samples) > a)
		return -1;
	while (bp_gamma_q(high + 1, limit_samples) <= a)
		high *= 2;
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (bp_gamma_q(middle + 1, limit_samples) <= a)
			low = middle;
		else
			high = middle;
	}
	return low;
}

double bp_plan_check_power(
	enum bp_plan_outcome outcome, double limit_samples, double factor, double a)
{
	assert(limit_samples > 0 && factor > 1);
	double critical = critical_samples(outcome, limit_samples, a);
	if (outcome == BP_PLAN_EXCEEDED)
		return bp_gamma_p(critical, factor * limit_samples);
	return critical < 0 ? 0 : bp_gamma_q(critical + 1, limit_samples / factor);
}

/* The limit in samples at which the critical number becomes `critical` + 1 (exceeded) or `critical`
 * (within). */
static double tooth(enum bp_plan_outcome outcome, double critical, double a)
{
	return outcome == BP_PLAN_EXCEEDED ? bp_gamma_p_inverse(a, critical)
					   : bp_gamma_q_inverse(a, critical + 1);
}

/* The least probability of the outcome while the critical number is that of tooth `critical`. */
static double tooth_power(enum bp_plan_outcome outcome, double critical, double factor, double a)
{
	if (outcome == BP_PLAN_EXCEEDED)
		return bp_gamma_p(critical + 1, factor * tooth(outcome, critical, a));
	return bp_gamma_q(critical + 1, tooth(outcome, critical + 1, a) / factor);
}

double bp_plan_check_samples(enum bp_plan_outcome outcome, double factor, double power, double a)
{
	assert(factor > 1);
	double low = 0, high = 1;
	if (outcome == BP_PLAN_WITHIN && tooth_power(outcome, 0, factor, a) >= power)
		return tooth(outcome, 0, a);
	while (high < 0x1p50 && tooth_power(outcome, high, factor, a) < power) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (tooth_power(outcome, middle, factor, a) < power)
			low = middle;
		else
			high = middle;
	}
	if (outcome == BP_PLAN_WITHIN)
		return tooth(outcome, high, a);
	/* On the tooth before, the outcome becomes probable enough somewhere, or at its end. */
	double before = high > 1 ? tooth(outcome, high - 1, a) : 0;
	double there = bp_gamma_p_inverse(power, high) / factor;
	return fmin(fmax(there, before), tooth(outcome, high, a));
}
