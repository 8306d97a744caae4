/* SPDX-License-Identifier: MIT */
/*
 * The peak of an estimated curve (docs/statistics.md, "Peak"). The largest value of a noisy curve
 * is found where the noise happened to be upwards: taken as it is, a flat heap seems to have peaked
 * 10 to 110 % above its level. Two remedies, computed here; time/ walks the events.
 *
 * Cross-fit: each sample goes to one or both of two halves so that each half is a sample with
 * inclusion probability pi_h(m) = 1 - exp(-lambda m / 2), independent of the other. (Both: pi_h^2
 * of all objects, so pi_h^2 / pi of the sampled ones; only one half: pi - pi_h^2 is twice pi_h (1 -
 * pi_h), so a fair coin.) The moment is chosen on one half and the value read from the other,
 * twice, and averaged: no selection bias is left but that a value at some moment cannot exceed the
 * peak.
 *
 * Lower limit: of the chosen moment, at an error divided by about the number of independent moments
 * the maximum was chosen from; and no lower than what is certain to have been live at one moment.
 *
 * Upper limit: the largest of all moments' upper limits. The one at the true moment holds as often
 * as it says, and the largest is not below it. (The limit at the chosen moment alone does not:
 * where a large object that was taken exactly made the estimate the largest, the true peak may have
 * been small objects at another time, whose estimate came out low.)
 */
#include "estimate/estimate.h"

#include <assert.h>
#include <math.h>

#include "base/hash.h"
#include "estimate/numeric/special.h"

struct bp_half_split bp_split_in_halves(uint64_t trials, uint64_t interval, bool exact)
{
	if (exact)
		return (struct bp_half_split){ 1, 1 };
	double half = -expm1(-bp_lambda(interval) * (double)trials / 2);
	double whole = bp_inclusion_probability(trials, interval);
	return (struct bp_half_split){ half, half * half / whole };
}

unsigned bp_draw_halves(struct bp_half_split split, uint64_t identity)
{
	/* 53 bits decide between one and both, another one is the coin. */
	if ((double)(identity >> 11) * 0x1p-53 < split.both)
		return 3;
	return identity & 1 ? 2 : 1;
}

double bp_peak_lower_level(double alpha, double turnovers, double factor)
{
	assert(turnovers >= 0 && factor >= 0);
	return alpha / 2 / (1 + factor * turnovers);
}

struct bp_interval bp_peak_moment_interval(struct bp_interval at_alpha, struct bp_interval at_level)
{
	if (!at_alpha.exact)
		at_alpha.low = fmin(at_alpha.low, at_level.low);
	return at_alpha;
}

struct bp_interval bp_peak_interval(
	struct bp_interval moment, double high, double certain, double estimate)
{
	if (moment.exact)
		return moment;
	moment.low = fmax(moment.low, certain);
	moment.high = fmax(fmax(moment.high, high), moment.low);
	moment.estimate = fmin(fmax(estimate, moment.low), moment.high);
	return moment;
}

/* The quantile of a Pearson III distribution by Wilson and Hilferty's cube, as its distance from
 * the mean. */
static double quantile_about(double deviation, double skewness, double depth)
{
	const double cube = fmax(1 + skewness * (depth - skewness / 6) / 6, 0);
	return 2 * deviation / skewness * (cube * cube * cube - 1);
}

/* The skewness is that of the gamma distribution with the same mean and variance, or the third
 * cumulant's if that is larger: as in bp_rest_upper. */
double bp_upper_limit_about(const struct bp_cumulants *sums, double unit, double depth)
{
	const double mean = sums->c1 + unit, variance = sums->c2 + unit * unit;
	const double deviation = sqrt(variance);
	const double third = (sums->c3 + 2 * unit * unit * unit) / (variance * deviation);
	return sums->sampled + mean +
	       quantile_about(deviation, fmax(2 * deviation / mean, third), depth);
}

double bp_lower_limit_about(const struct bp_cumulants *sums, double depth)
{
	const double mean = sums->c1, deviation = sqrt(sums->c2);
	if (!(mean > 0 && deviation > 0))
		return sums->sampled + fmax(mean, 0);
	return sums->sampled +
	       fmax(mean + quantile_about(deviation, 2 * deviation / mean, -depth), 0);
}

double bp_limit_depth(double error)
{
	return error < 0.5 ? -bp_normal_quantile(error) : 0;
}
