/* SPDX-License-Identifier: MIT */
/*
 * Outcomes, bounds of a ratio over several runs, and what would decide; see check.h.
 *
 * What would decide is taken from plan.h, which knows how often a check on small objects decides at
 * a given number of samples. Objects that are not small are brought to that by their variance: a
 * rest of R bytes with variance V is known as well as R^2/V samples of small objects would know it.
 */
#include "estimate/check.h"

#include <math.h>

#include "estimate/plan.h"

const char *const bp_outcome_names[BP_OUTCOME_COUNT] = { "within", "exceeded", "undecided" };

enum bp_outcome bp_check_outcome(struct bp_bounds bounds, double most)
{
	if (bounds.low > most)
		return BP_OUTCOME_EXCEEDED;
	return bounds.high <= most ? BP_OUTCOME_WITHIN : BP_OUTCOME_UNDECIDED;
}

enum bp_outcome bp_check_both(enum bp_outcome one, enum bp_outcome other)
{
	if (one == BP_OUTCOME_EXCEEDED || other == BP_OUTCOME_EXCEEDED)
		return BP_OUTCOME_EXCEEDED;
	return one == BP_OUTCOME_WITHIN ? other : one;
}

double bp_check_least(double unit, double a)
{
	return -log(a) * unit;
}

struct bp_side bp_check_mean(const struct bp_side *sides, size_t count)
{
	struct bp_side sum = sides[0];
	for (size_t i = 1; i < count; i++)
		sum = bp_side_add(sum, sides[i]);
	return bp_side_scale(sum, 1 / (double)count);
}

static bool any_certain(const struct bp_side *sides, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(sides[i].variance > 0))
			return true;
	return false;
}

/* Was something estimated that moves in steps (large objects under law `bernoulli`)? */
static bool any_stepping(const struct bp_side *sides, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sides[i].variance > 0 && sides[i].lattice > 0)
			return true;
	return false;
}

struct bp_bounds bp_check_ratio(const struct bp_side *base, size_t base_count,
	const struct bp_side *new, size_t new_count, double a)
{
	/* The one comparison whose limits may miss more often than they say. */
	if ((any_certain(base, base_count) && any_stepping(new, new_count)) ||
		(any_certain(new, new_count) && any_stepping(base, base_count)))
		a /= BP_DIFF_SAFETY;
	struct bp_change change = bp_diff_runs(base, base_count, new, new_count, 2 * a);
	return (struct bp_bounds){ change.ratio.low, change.ratio.high };
}

/* T for a number of samples that is `samples / samples_now` times the present one: another T than
 * the present one is always meant, and a round number. */
static uint64_t interval_for(uint64_t interval, double samples_now, double samples)
{
	double wanted = fmin((double)interval / 2, (double)interval * samples_now / samples);
	uint64_t round = 1;
	while (wanted >= 2 * (double)round)
		round *= 2;
	return round;
}

static struct bp_check_need need_of(
	double factor, double samples_now, double samples, uint64_t interval)
{
	struct bp_check_need need = {
		.factor = factor, .samples_now = samples_now, .samples = samples
	};
	need.decidable = samples > 0 && samples_now > 0 && interval > 1;
	if (need.decidable)
		need.interval = interval_for(interval, samples_now, samples);
	return need;
}

struct bp_check_need bp_check_need(
	struct bp_check_evidence evidence, double most, double a_exceeded, double a_within)
{
	double bound = most - evidence.known, rest = evidence.rest;
	if (!(bound > 0) || evidence.interval <= 1)
		return (struct bp_check_need){ .factor = 1 };
	bool over = rest > bound;
	double factor = over ? rest / bound : rest > 0 ? bound / rest : INFINITY;
	double samples_now = evidence.variance > 0 && rest > 0 ? rest * bound / evidence.variance
							       : bound / evidence.unit;
	if (factor < BP_CHECK_FACTOR_LEAST)
		return need_of(factor, samples_now, 0, evidence.interval);
	double samples = bp_plan_check_samples(over ? BP_PLAN_EXCEEDED : BP_PLAN_WITHIN, factor,
		BP_CHECK_POWER, over ? a_exceeded : a_within);
	return need_of(factor, samples_now, samples, evidence.interval);
}

/* Variance of ln(estimate); a side without a sample counts as one. */
static double relative_variance(const struct bp_side *side)
{
	if (side->estimate > 0)
		return side->variance / (side->estimate * side->estimate);
	return side->unit > 0 ? 1 : 0;
}

struct bp_check_need bp_check_ratio_need(const struct bp_side *base, const struct bp_side *new,
	uint64_t interval, double most, double a)
{
	double ratio = fmax(new->estimate, new->unit) / fmax(base->estimate, base->unit);
	double factor = ratio > most ? ratio / most : most / ratio;
	double variance = relative_variance(base) + relative_variance(new);
	if (!isfinite(factor) || !(variance > 0) || factor < BP_CHECK_RATIO_LEAST)
		return (struct bp_check_need){ .factor = factor };
	/* With n samples before and F n after, the variance is (1 + 1/F) / n; of a counted base,
	 * 1/n. */
	double there = base->variance > 0 ? 1 + 1 / factor : 1;
	double samples =
		base->variance > 0
			? (double)bp_plan_samples_for_change(factor, BP_CHECK_POWER, 2 * a)
			: bp_plan_check_samples(ratio > most ? BP_PLAN_EXCEEDED : BP_PLAN_WITHIN,
				  factor, BP_CHECK_POWER, a);
	return need_of(factor, there / variance, samples, interval);
}

struct bp_check_need bp_check_need_of_bounds(struct bp_check_need need, struct bp_bounds bounds,
	double ratio, uint64_t interval, double most)
{
	/* (z + z') / z for the usual errors: .01 to .001 for a bound, .2 for missing it. */
	const double spare = 1.35;
	double gap = fabs(log(ratio / most));
	double width = ratio > most ? log(ratio / bounds.low) : log(bounds.high / ratio);
	double times = spare * width / gap * spare * width / gap;
	if (!need.decidable || !isfinite(times) || need.samples >= times * need.samples_now)
		return need;
	return need_of(need.factor, need.samples_now, times * need.samples_now, interval);
}
