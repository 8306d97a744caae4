/* SPDX-License-Identifier: MIT */
/*
 * Two figures compared (docs/statistics.md, "Differences").
 *
 * Each figure is given two laws, one for what it is at least and one for what it is at most. "At
 * most" is what was sampled, K, which is certain, plus a gamma variable with mean and variance of
 * the unsampled rest and one exponential unseen unit, as in the limit of N3. "At least" is a gamma
 * variable with mean and variance of the whole estimate, K included; only objects of T and more,
 * which are in every sample (law `exact`), are taken out of it and are certain. With either law
 * in the form of the other, false alarms are above nominal (docs/statistics.md has the figures).
 *
 * "The new one is larger" is then tested by the probability that the lower law of the new falls
 * below the upper law of the base ("melding" of two one-sided confidence laws: Fay, Proschan and
 * Brittain, Biometrics 71, 2015). Limits of ratio and difference are quantiles of the same two
 * laws. For tiny objects of one size K is next to nothing, the gammas have the shapes s and s + 1,
 * and this is the exact conditional binomial test.
 *
 * Where large objects made trials (law `bernoulli`) the estimate moves in steps as large as they
 * are, which a smooth law does not know: there the lower law is taken half a step lower, with
 * the variance of a rounding, like in the interval of a part of a known total, and the upper law a
 * quarter of a step higher, likewise. (Half a step there too would hide that two objects of 8 T
 * have become four.)
 *
 * The mid-p counts half of the probability of what was observed. Of the melded laws it is the sum
 * of one tail of the test for an increase and of the complement of the test for a decrease.
 */
#include "estimate/diff.h"

#include <assert.h>
#include <math.h>

#include "estimate/numeric/gamma_pair.h"
#include "estimate/rest.h"

/* psi of the negative binomial that stands for a rest (rest.c); c1, c2 > 0. */
static double psi_of(const struct bp_rest *rest)
{
	return fmin(1, fmax(0, 2 - rest->c3 / rest->c2 * (rest->c1 / rest->c2)));
}

/* Steps of the estimate of a rest: kappa of its negative binomial. */
static double lattice_of(const struct bp_rest *rest)
{
	if (!(rest->c1 > 0) || !(rest->c2 > 0))
		return 0;
	return rest->c2 / rest->c1 * psi_of(rest);
}

/* What was sampled of objects that could have been missed is r kappa = C1 psi / (1 - psi) of the
 * same negative binomial: K itself for one size below T. The remainder of K was certain to be
 * sampled. Under law `bernoulli` nothing is, and trials of many T beside small objects would be
 * mistaken for it: there the lower law would fail. */
static double taken_of(const struct bp_rest *rest)
{
	if (!(rest->c1 > 0) || !(rest->c2 > 0))
		return rest->sampled;
	double psi = psi_of(rest);
	return psi < 1 ? fmax(0, rest->sampled - rest->c1 * psi / (1 - psi)) : 0;
}

static struct bp_side side_of_rest(
	const struct bp_rest *rest, const struct bp_sums *sums, double unit)
{
	return (struct bp_side){ .estimate = rest->sampled + rest->c1,
		.variance = rest->c2,
		.unit = unit,
		.lattice = sums->bernoulli ? lattice_of(rest) : 0,
		.samples = sums->samples,
		.certain = rest->sampled,
		.taken = sums->bernoulli ? 0 : taken_of(rest) };
}

struct bp_side bp_side_of_count(double count)
{
	return (struct bp_side){
		.estimate = count, .lattice = 1, .certain = count, .taken = count
	};
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
	side.certain *= factor;
	side.taken *= factor;
	return side;
}

struct bp_side bp_side_add(struct bp_side a, struct bp_side b)
{
	return (struct bp_side){ .estimate = a.estimate + b.estimate,
		.variance = a.variance + b.variance,
		.unit = fmax(a.unit, b.unit),
		.lattice = fmax(a.lattice, b.lattice),
		.samples = a.samples + b.samples,
		.certain = a.certain + b.certain,
		.taken = a.taken + b.taken };
}

/* A certain value plus a gamma variable. */
struct law {
	double certain;
	struct bp_gamma random;
};

/* The law of what it is at least. */
static struct law lower_law(const struct bp_side *side)
{
	if (!(side->variance > 0))
		return (struct law){ side->estimate, { 0, 0 } };
	double mean = side->estimate - side->taken - side->lattice / 2;
	return (struct law){ side->taken,
		{ fmax(0, mean), side->variance + side->lattice * side->lattice / 12 } };
}

/* The law of what it is at most. */
static struct law upper_law(const struct bp_side *side)
{
	double step = side->variance > 0 ? side->lattice / 2 : 0; /* a count has no law */
	return (struct law){ side->certain,
		{ side->estimate - side->certain + side->unit + step / 2,
			side->variance + side->unit * side->unit + step * step / 12 } };
}

double bp_ratio_lower(const struct bp_side *base, const struct bp_side *new, double a)
{
	struct law low = lower_law(new), high = upper_law(base);
	return bp_gamma_shifted_ratio_quantile(
		low.random, low.certain, high.random, high.certain, a);
}

double bp_diff_lower(const struct bp_side *base, const struct bp_side *new, double a)
{
	struct law low = lower_law(new), high = upper_law(base);
	return bp_gamma_difference_quantile(low.random, high.random, a) +
	       (low.certain - high.certain);
}

/* P(`new` at least <= `base` at most), and P(>). */
static struct bp_tails not_larger(const struct bp_side *base, const struct bp_side *new)
{
	struct law low = lower_law(new), high = upper_law(base);
	return bp_gamma_difference_tails(low.random, high.random, high.certain - low.certain);
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
	difference.low = fmin(bp_diff_lower(base, new, a), difference.estimate);
	difference.high = fmax(-bp_diff_lower(new, base, a), difference.estimate);
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

struct bp_change bp_diff_pair_p(const struct bp_side *base, const struct bp_side *new)
{
	struct bp_tails increase = not_larger(base, new), decrease = not_larger(new, base);
	struct bp_change change = {
		.p_increase = increase.at_most,
		.p_decrease = decrease.at_most,
		.difference = { new->estimate - base->estimate, -INFINITY, INFINITY,
			.exact = false },
		.ratio = { NAN, 0, INFINITY, .unknown = true },
	};
	double larger = increase.at_most + decrease.exceeds;
	double smaller = decrease.at_most + increase.exceeds;
	change.p = fmin(1, 2 * fmin(change.p_increase, change.p_decrease));
	/* Of an unseen unit far above the estimate the upper law reaches below the lower one. */
	change.p_mid = fmin(change.p, fmin(larger, smaller));
	if (base->estimate > 0) {
		change.ratio.estimate = new->estimate / base->estimate;
		change.ratio.unknown = false;
	}
	return change;
}

struct bp_change bp_diff_pair(const struct bp_side *base, const struct bp_side *new, double alpha)
{
	assert(alpha > 0 && alpha < 1);
	struct bp_change change = bp_diff_pair_p(base, new);
	change.difference = difference_interval(base, new, alpha / 2);
	change.ratio = ratio_interval(base, new, alpha / 2);
	return change;
}
