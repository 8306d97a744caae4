/* SPDX-License-Identifier: MIT */
/*
 * The cold half of bytepoll/sampler.h: what happens when a countdown runs out. Kept small enough to
 * be checked against the pseudo-code of docs/statistics.md, "The law", line by line.
 */
#include "bytepoll/sampler.h"

#include "sampler/gap.h"
#include "sampler/prng.h"

static void take_over(struct bp_sampler *sampler)
{
	sampler->interval = sampler->interval_wanted;
	sampler->gap_scale = bp_gap_scale(sampler->interval);
	sampler->look_max = BP_SAMPLER_LOOK_MAX;
	/* Under the law `exact` every m >= T must borrow: never more than T - 1 left. */
	if (sampler->law == BP_SAMPLER_EXACT && sampler->interval != BP_SAMPLER_OFF &&
		sampler->interval - 1 < sampler->look_max)
		sampler->look_max = sampler->interval - 1;
}

/* The countdown for `gap` failed trials: at most look_max, where it ends in another draw. */
static uint64_t countdown(struct bp_sampler *sampler, uint64_t gap)
{
	sampler->undecided = gap >= sampler->look_max;
	return sampler->undecided ? sampler->look_max : gap;
}

/* Failed trials before the next success. While sampling is off there is none. */
static uint64_t next_gap(struct bp_sampler *sampler)
{
	if (sampler->interval == BP_SAMPLER_OFF)
		return UINT64_MAX;
	return bp_gap(bp_random_next(sampler->random), sampler->gap_scale);
}

/* Takes over the wanted T and returns a fresh countdown, at most look_max. */
static uint64_t draw(struct bp_sampler *sampler)
{
	if (sampler->interval != sampler->interval_wanted)
		take_over(sampler);
	return countdown(sampler, next_gap(sampler));
}

static uint64_t arm(struct bp_sampler *sampler, uint64_t trials_left)
{
	sampler->armed = trials_left;
	return trials_left;
}

void bp_sampler_init(struct bp_sampler *sampler, uint64_t seed, uint64_t interval, uint32_t law)
{
	*sampler = (struct bp_sampler){ .law = law, .interval_wanted = interval };
	bp_random_seed(sampler->random, seed);
	take_over(sampler);
	/* An empty countdown that ends in a draw: the first object is looked at, and its gap is
	 * drawn then. */
	sampler->undecided = true;
}

/* Decides an object of `trials` trials whose countdown, `left` at its first trial, ran out within
 * it. Two draws at most, whatever its size: where the countdown ends in a draw, the whole gap is
 * drawn then, and what of it lies beyond the object is the next countdown. */
static uint64_t decide_crossed(struct bp_sampler *sampler, uint64_t left, uint64_t trials,
	struct bp_decision *ret_decision)
{
	const uint64_t rest = trials - left; /* the countdown's last trial failed before these */
	const uint64_t gap = sampler->undecided ? next_gap(sampler) : 0;
	if (gap < rest) {
		ret_decision->sampled = true;
		ret_decision->offset = left + gap;
		return draw(sampler);
	}
	if (sampler->interval != sampler->interval_wanted)
		return draw(sampler);
	return countdown(sampler, gap - rest);
}

uint64_t bp_sampler_decide(struct bp_sampler *sampler, uint64_t trials_left, size_t size,
	struct bp_decision *ret_decision)
{
	const uint64_t trials = (uint64_t)size + BP_SAMPLER_CHARGE;
	uint64_t left = trials_left + trials; /* before this object */
	sampler->trials += (sampler->armed - left) + trials;
	*ret_decision = (struct bp_decision){ .interval = sampler->interval };
	if (left > sampler->armed) {
		/* Charged again, by a handler, after the borrow: what it took is more than was
		 * left. Discard and draw anew, under the T that decides this object. */
		ret_decision->interrupted = true;
		left = countdown(sampler, next_gap(sampler));
	}

	if (sampler->law == BP_SAMPLER_EXACT && sampler->interval != BP_SAMPLER_OFF &&
		trials >= sampler->interval) {
		ret_decision->sampled = ret_decision->exact = true;
		/* Certain, so the countdown is untouched, unless a new T waits: without the memory
		 * of the law a fresh draw is as good. */
		return arm(sampler,
			sampler->interval == sampler->interval_wanted ? left : draw(sampler));
	}
	if (left < trials)
		left = decide_crossed(sampler, left, trials, ret_decision);
	else if (sampler->interval != sampler->interval_wanted)
		left = draw(sampler);
	else
		left -= trials;
	return arm(sampler, left);
}

void bp_sampler_set_interval(struct bp_sampler *sampler, uint64_t interval)
{
	sampler->interval_wanted = interval;
}

uint64_t bp_sampler_restart(struct bp_sampler *sampler, uint64_t trials_left)
{
	sampler->trials += sampler->armed - trials_left;
	return arm(sampler, draw(sampler));
}

uint64_t bp_sampler_look_next(struct bp_sampler *sampler, uint64_t trials_left)
{
	sampler->trials += sampler->armed - trials_left;
	sampler->undecided = true;
	return arm(sampler, 0);
}
