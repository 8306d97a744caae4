/* SPDX-License-Identifier: MIT */
/*
 * Kaplan and Meier's estimate of survival with Horvitz-Thompson's weights, and its limits by a beta
 * distribution.
 *
 * One walk over the ages in ascending order keeps what the estimate and its variance at the present
 * age need. Let R be the weight at risk at an age and D the weight that ends there. Then S is the
 * product of 1 - D/R over the ages so far, and G the sum of D/(R(R - D)). The derivative of S by
 * the weight of object i is S times
 *
 *	G(y) - e/(R(y) - D(y))   of an object whose age y has passed; e = 1: it ended, 0: censored
 *	G                        of an object that is still at risk
 *
 * so that the variance under independent sampling, the sum of value^2 (1 - pi)/pi^2 derivative^2,
 * is S^2 (Q + G^2 V), with Q summed over what has passed and V of value^2 (1 - pi)/pi^2 over what
 * is at risk. (Of which age an object dies is no matter of chance here: chance decides which
 * objects are sampled, and nothing else.)
 *
 * A second walk in step with the first has one unit `unseen` more at risk at all ages, with the
 * variance unseen^2. For the lower limit it outlives the present age; for the upper limit it ends
 * there. Each limit is a quantile of the beta distribution with that mean m and the size n = m(1 -
 * m)/variance. For equal small objects without censoring these are Clopper and Pearson's limits;
 * with censoring they have the construction of Fay, Brittain and Proschan's beta product (2013), of
 * which the mean is matched, and the variance is the linearised one.
 */
#include "estimate/lifetime.h"

#include <math.h>

#include "estimate/numeric/special.h"

/* Shapes below this are outside of what the special functions are good for. A lower limit from such
 * a distribution is below 1e-100, that is, 0. */
#define SHAPE_MIN .01

/* Sums of one walk, with the unseen unit or without. */
struct curve {
	double unit;		/* of the unseen part that is at risk at all ages */
	double survival;	/* S */
	double hazard;		/* G */
	double passed_variance; /* Q */
};

struct walk {
	const struct bp_lifetime *lifetimes;
	size_t count, next; /* the first that has not passed */
	double at_risk;	    /* weight of what has not passed */
	double variance;    /* V of it */
	bool certain;	    /* nothing can be unseen, and all was taken with certainty */
	struct curve seen, with_unit;
};

int bp_lifetime_compare(const void *left, const void *right)
{
	const struct bp_lifetime *a = left, *b = right;
	return a->age < b->age ? -1 : a->age > b->age;
}

static double weight_of(const struct bp_lifetime *one)
{
	return one->value * one->whole * one->count;
}

static double variance_of(const struct bp_lifetime *one)
{
	return one->value * one->value * one->whole * (one->whole - 1) * one->count;
}

static struct walk begin(const struct bp_lifetime *lifetimes, size_t count, double unseen)
{
	struct walk walk = { .lifetimes = lifetimes, .count = count };
	walk.seen = (struct curve){ .survival = 1 };
	walk.with_unit = (struct curve){ .unit = unseen, .survival = 1 };
	/* From the end on, so that the small weights at risk at great ages lose no digits. */
	for (size_t i = count; i-- > 0;) {
		walk.at_risk += weight_of(&lifetimes[i]);
		walk.variance += variance_of(&lifetimes[i]);
	}
	walk.certain = unseen == 0 && walk.variance == 0;
	return walk;
}

/* What ends at one age: weights, and the variance of what ends and of what is censored there. */
struct step {
	double at_risk, ended, ended_variance, censored_variance;
	bool last; /* nothing is at risk afterwards */
};

static void pass(struct curve *curve, const struct step *step)
{
	const double at_risk = step->at_risk + curve->unit;
	const double left =
		step->last && step->ended >= step->at_risk ? curve->unit : at_risk - step->ended;
	if (step->ended > 0 && !(left > 0)) {
		curve->survival = 0;
		return;
	}
	if (step->ended > 0) {
		curve->survival *= left / at_risk;
		curve->hazard += step->ended / (at_risk * left);
	}
	const double of_ended = curve->hazard - (step->ended > 0 ? 1 / left : 0);
	curve->passed_variance += step->ended_variance * of_ended * of_ended +
				  step->censored_variance * curve->hazard * curve->hazard;
}

/* Passes all objects of the next age. */
static void advance(struct walk *walk)
{
	const uint64_t age = walk->lifetimes[walk->next].age;
	struct step step = { .at_risk = walk->at_risk };
	double weight = 0, variance = 0;
	bool all_ended = true;
	for (; walk->next < walk->count && walk->lifetimes[walk->next].age == age; walk->next++) {
		const struct bp_lifetime *one = &walk->lifetimes[walk->next];
		weight += weight_of(one);
		variance += variance_of(one);
		step.ended += one->ended ? weight_of(one) : 0;
		*(one->ended ? &step.ended_variance : &step.censored_variance) += variance_of(one);
		all_ended = all_ended && one->ended;
	}
	step.last = walk->next == walk->count;
	if (step.last)
		/* What was subtracted so far has left a remainder of rounding. */
		step.at_risk = weight;
	if (step.last && all_ended)
		step.ended = step.at_risk;
	pass(&walk->seen, &step);
	pass(&walk->with_unit, &step);
	walk->at_risk = step.last ? 0 : fmax(walk->at_risk - weight, 0);
	walk->variance = step.last ? 0 : fmax(walk->variance - variance, 0);
}

/* A beta distribution by its mean m and n = m(1 - m)/variance. */
struct mean_and_size {
	double mean, size;
};

static struct mean_and_size of_moments(double mean, double variance)
{
	return (struct mean_and_size){ mean,
		variance > 0 ? mean * (1 - mean) / variance : INFINITY };
}

/* Of the share that has ended, where the unseen unit outlives the present age. */
static struct mean_and_size with_a_survivor(const struct walk *walk)
{
	const struct curve *curve = &walk->with_unit;
	const double at_risk = walk->variance + curve->unit * curve->unit;
	const double variance = curve->survival * curve->survival *
				(curve->passed_variance + curve->hazard * curve->hazard * at_risk);
	return of_moments(1 - curve->survival, variance);
}

/* And where it ends there. */
static struct mean_and_size with_an_end(const struct walk *walk)
{
	const struct curve *curve = &walk->with_unit;
	const double all = walk->at_risk + curve->unit;
	if (!(walk->at_risk > 0))
		return of_moments(curve->unit > 0 ? 1 : 1 - curve->survival, 0);
	const double survival = curve->survival * walk->at_risk / all;
	const double hazard = curve->hazard + curve->unit / (all * walk->at_risk);
	const double of_unit = curve->hazard - 1 / all;
	const double variance = survival * survival *
				(curve->passed_variance + hazard * hazard * walk->variance +
					of_unit * of_unit * curve->unit * curve->unit);
	return of_moments(1 - survival, variance);
}

/* The value that the share is below, or above, with the probability `error`. */
static double low_quantile(struct mean_and_size beta, double error)
{
	if (!(beta.mean > 0) || !(beta.mean < 1) || isinf(beta.size))
		return beta.mean;
	if (beta.mean * beta.size < SHAPE_MIN)
		return 0;
	return bp_beta_regularized_inverse(
		error, beta.mean * beta.size, fmax((1 - beta.mean) * beta.size, SHAPE_MIN));
}

static double high_quantile(struct mean_and_size beta, double error)
{
	return 1 - low_quantile((struct mean_and_size){ 1 - beta.mean, beta.size }, error);
}

static struct bp_interval share_now(const struct walk *walk, double alpha)
{
	struct bp_interval share = { .estimate = 1 - walk->seen.survival, .exact = walk->certain };
	if (walk->count == 0)
		return (struct bp_interval){ NAN, 0, 1, false, true };
	share.low = fmin(low_quantile(with_a_survivor(walk), alpha / 2), share.estimate);
	share.high = fmax(high_quantile(with_an_end(walk), alpha / 2), share.estimate);
	if (walk->certain)
		share.low = share.high = share.estimate;
	return share;
}

void bp_lifetime_shares(const struct bp_lifetime *lifetimes, size_t count, double unseen,
	double alpha, const uint64_t *ages, size_t age_count, struct bp_interval *ret_shares)
{
	struct walk walk = begin(lifetimes, count, unseen);
	for (size_t i = 0; i < age_count; i++) {
		while (walk.next < count && lifetimes[walk.next].age <= ages[i])
			advance(&walk);
		ret_shares[i] = share_now(&walk, alpha);
		const bool followed = count > 0 && lifetimes[count - 1].age >= ages[i];
		if (followed || walk.seen.survival == 0)
			continue;
		ret_shares[i].estimate = NAN;
		ret_shares[i].high = 1;
		ret_shares[i].unknown = true;
		ret_shares[i].exact = false;
	}
}

/* The probability that a share of this distribution is below 1/2; of the shapes one may be tiny. */
static double below_half(struct mean_and_size beta)
{
	const double shape = beta.mean * beta.size, other = (1 - beta.mean) * beta.size;
	return bp_beta_regularized(fmax(shape, SHAPE_MIN), fmax(other, SHAPE_MIN), .5, .5);
}

/* Is its quantile at `error` 1/2 or more? */
static bool is_above_half(struct mean_and_size beta, double error)
{
	if (beta.mean <= .5)
		return false;
	return beta.mean >= 1 || isinf(beta.size) || below_half(beta) <= error;
}

/* Is its quantile at 1 - `error` less than 1/2? Ten standard deviations away it is not computed:
 * most ages are. */
static bool is_below_half(struct mean_and_size beta, double error)
{
	if (beta.mean >= .5)
		return false;
	if (beta.mean <= 0 || isinf(beta.size))
		return true;
	if (beta.size > 1000 && beta.mean + 10 * sqrt(beta.mean * (1 - beta.mean) / beta.size) < .5)
		return true;
	return below_half((struct mean_and_size){ 1 - beta.mean, beta.size }) <= error;
}

struct bp_interval bp_lifetime_median(
	const struct bp_lifetime *lifetimes, size_t count, double unseen, double alpha)
{
	struct walk walk = begin(lifetimes, count, unseen);
	struct bp_interval median = { .estimate = INFINITY, .low = INFINITY, .high = INFINITY };
	if (count == 0)
		return (struct bp_interval){ NAN, 0, INFINITY, false, true };
	median.exact = walk.certain;
	if (unseen > 0 && !is_below_half(with_an_end(&walk), alpha / 2))
		median.low = 0;
	while (walk.next < count && isinf(median.high)) {
		const double age = (double)lifetimes[walk.next].age;
		advance(&walk);
		if (isinf(median.estimate) && walk.seen.survival <= .5)
			median.estimate = age;
		if (isinf(median.low) && !is_below_half(with_an_end(&walk), alpha / 2))
			median.low = age;
		if (is_above_half(with_a_survivor(&walk), alpha / 2))
			median.high = age;
	}
	median.low = fmin(median.low, median.estimate);
	if (walk.certain)
		median.low = median.high = median.estimate;
	/* Beyond the last age nothing is known, not even where every object was sampled. */
	if (isinf(median.estimate))
		median.high = INFINITY;
	return median;
}

struct bp_interval bp_lifetime_ended(
	const struct bp_lifetime *lifetimes, size_t count, double unseen, double alpha)
{
	struct walk walk = begin(lifetimes, count, unseen);
	struct step step = { .at_risk = walk.at_risk };
	double left = 0;
	for (size_t i = 0; i < count; i++) {
		const struct bp_lifetime *one = &lifetimes[i];
		*(one->ended ? &step.ended : &left) += weight_of(one);
		step.ended_variance += one->ended ? variance_of(one) : 0;
	}
	step.last = !(left > 0);
	if (step.last)
		step.ended = step.at_risk;
	pass(&walk.seen, &step);
	pass(&walk.with_unit, &step);
	walk.at_risk = left;
	walk.variance = fmax(walk.variance - step.ended_variance, 0);
	return share_now(&walk, alpha);
}
