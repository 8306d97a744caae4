/* SPDX-License-Identifier: MIT */
/*
 * Two figures compared (docs/statistics.md, "Differences").
 *
 * Each figure is given two gamma laws, one for what it is at least and one for what it is at most:
 * mean and variance of the estimate as they are, and both with one exponential unseen unit added,
 * exactly as in the limits of N3. "The new one is larger" is then tested by the probability that the
 * lower law of the new falls below the upper law of the base ("melding" of two one-sided
 * confidence laws: Fay, Proschan and Brittain, Biometrics 71, 2015). Limits of ratio and difference
 * are quantiles of the same two laws. For tiny objects of one size the gammas have the shapes s
 * and s + 1, and this is the exact conditional binomial test.
 *
 * Where large objects made trials (law `bernoulli`) the estimate moves in steps as large as they
 * are, which a smooth law does not know: there the lower law is taken half a step lower, with
 * the variance of a rounding, like in the interval of a part of a known total.
 *
 * The mid-p counts half of the probability of what was observed. Of the melded laws it is the sum
 * of one tail of the test for an increase and of the complement of the test for a decrease.
 */
#include "estimate/compare.h"

#include <assert.h>
#include <math.h>

#include "estimate/gamma_pair.h"
#include "estimate/rest.h"

/* Steps of the estimate of a rest: kappa of its negative binomial (rest.c). */
static double lattice_of(const struct bp_rest *rest)
{
	if (!(rest->c1 > 0) || !(rest->c2 > 0))
		return 0;
	double psi = 2 - rest->c3 / rest->c2 * (rest->c1 / rest->c2);
	return rest->c2 / rest->c1 * fmin(1, fmax(0, psi));
}

static struct bp_side side_of_rest(
	const struct bp_rest *rest, const struct bp_sums *sums, double unit)
{
	return (struct bp_side){ .estimate = rest->sampled + rest->c1,
		.variance = rest->c2,
		.unit = unit,
		.lattice = sums->bernoulli ? lattice_of(rest) : 0,
		.samples = sums->samples };
}

struct bp_side bp_side_of_count(double count)
{
	return (struct bp_side){ .estimate = count, .lattice = 1 };
}

/* At T = 1 all was taken: the sum is a count. */
static struct bp_side side_of_everything(double sum, uint64_t samples)
{
	struct bp_side side = bp_side_of_count(sum);
	side.samples = samples;
	return side;
}

static uint64_t largest_interval(const struct bp_sums *sums, uint64_t interval_max)
{
	uint64_t interval = sums->interval_max > interval_max ? sums->interval_max : interval_max;
	assert(interval >= 1);
	return interval;
}

struct bp_side bp_side_of_values(
	const struct bp_sums *sums, uint64_t interval_max, double ratio_max)
{
	uint64_t interval = largest_interval(sums, interval_max);
	if (interval == 1)
		return side_of_everything(sums->bytes, sums->samples);
	struct bp_rest rest = bp_rest_of_bytes(sums);
	return side_of_rest(&rest, sums, fmax(ratio_max, sums->ratio_max) / bp_lambda(interval));
}

struct bp_side bp_side_of_objects(
	const struct bp_sums *sums, uint64_t interval_max, uint64_t size_min, uint32_t charge)
{
	uint64_t interval = largest_interval(sums, interval_max);
	if (interval == 1)
		return side_of_everything((double)sums->samples, sums->samples);
	struct bp_rest rest = bp_rest_of_objects(sums);
	double unit = 1 / bp_inclusion_probability(bp_trials(size_min, charge), interval);
	return side_of_rest(&rest, sums, unit);
}

struct bp_side bp_side_scale(struct bp_side side, double factor)
{
	assert(factor > 0);
	side.estimate *= factor;
	side.variance *= factor * factor;
	side.unit *= factor;
	side.lattice *= factor;
	return side;
}

struct bp_side bp_side_add(struct bp_side a, struct bp_side b)
{
	return (struct bp_side){ .estimate = a.estimate + b.estimate,
		.variance = a.variance + b.variance,
		.unit = fmax(a.unit, b.unit),
		.lattice = fmax(a.lattice, b.lattice),
		.samples = a.samples + b.samples };
}

/* The law of what it is at least, and of what it is at most. */
static struct bp_gamma lower_law(const struct bp_side *side)
{
	if (!(side->variance > 0))
		return (struct bp_gamma){ side->estimate, 0 };
	return (struct bp_gamma){ fmax(0, side->estimate - side->lattice / 2),
		side->variance + side->lattice * side->lattice / 12 };
}

static struct bp_gamma upper_law(const struct bp_side *side)
{
	return (struct bp_gamma){ side->estimate + side->unit,
		side->variance + side->unit * side->unit };
}

double bp_ratio_lower(const struct bp_side *base, const struct bp_side *new, double a)
{
	return bp_gamma_ratio_quantile(lower_law(new), upper_law(base), a);
}

double bp_difference_lower(const struct bp_side *base, const struct bp_side *new, double a)
{
	return bp_gamma_difference_quantile(lower_law(new), upper_law(base), a);
}

/* Neither anything sampled with an error nor anything that can have been missed. */
static bool is_counted(const struct bp_side *side)
{
	return !(side->variance > 0) && !(side->unit > 0);
}

static struct bp_interval difference_interval(
	const struct bp_side *base, const struct bp_side *new, double a)
{
	struct bp_interval difference = { .estimate = new->estimate - base->estimate };
	difference.exact = is_counted(base) && is_counted(new);
	difference.low = fmin(bp_difference_lower(base, new, a), difference.estimate);
	difference.high = fmax(-bp_difference_lower(new, base, a), difference.estimate);
	return difference;
}

static struct bp_interval ratio_interval(
	const struct bp_side *base, const struct bp_side *new, double a)
{
	double low = bp_ratio_lower(base, new, a), high = 1 / bp_ratio_lower(new, base, a);
	if (!(base->estimate > 0))
		return (struct bp_interval){ NAN, low, high, .unknown = true };
	double ratio = new->estimate / base->estimate;
	bool exact = is_counted(base) && is_counted(new);
	if (exact)
		return (struct bp_interval){ ratio, ratio, ratio, .exact = true };
	return (struct bp_interval){ ratio, fmin(low, ratio), fmax(high, ratio), false, false };
}

struct bp_change bp_compare_p(const struct bp_side *base, const struct bp_side *new)
{
	struct bp_gamma base_low = lower_law(base), base_high = upper_law(base);
	struct bp_gamma new_low = lower_law(new), new_high = upper_law(new);
	struct bp_change change = {
		.p_increase = bp_gamma_at_most(new_low, base_high),
		.p_decrease = bp_gamma_at_most(base_low, new_high),
		.difference = { new->estimate - base->estimate, -INFINITY, INFINITY,
			.exact = false },
		.ratio = { NAN, 0, INFINITY, .unknown = true },
	};
	double larger = change.p_increase + bp_gamma_exceeds(base_low, new_high);
	double smaller = change.p_decrease + bp_gamma_exceeds(new_low, base_high);
	change.p = fmin(1, 2 * fmin(change.p_increase, change.p_decrease));
	change.p_mid = fmin(1, fmin(larger, smaller));
	if (base->estimate > 0) {
		change.ratio.estimate = new->estimate / base->estimate;
		change.ratio.unknown = false;
	}
	return change;
}

struct bp_change bp_compare(const struct bp_side *base, const struct bp_side *new, double alpha)
{
	assert(alpha > 0 && alpha < 1);
	struct bp_change change = bp_compare_p(base, new);
	change.difference = difference_interval(base, new, alpha / 2);
	change.ratio = ratio_interval(base, new, alpha / 2);
	return change;
}
