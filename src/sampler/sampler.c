/* SPDX-License-Identifier: MIT */
/*
 * The cold half of bytepoll/sampler.h: what happens when a countdown runs out. Kept small enough to
 * be checked against the pseudo-code of docs/statistics.md, "The law", line by line.
 */
#include "bytepoll/sampler.h"

#include "sampler/gap.h"
#include "sampler/prng.h"

/* Takes over the wanted T and returns a fresh countdown, at most look_max. */
static uint64_t draw(struct bp_sampler *sampler)
{
	if (sampler->interval != sampler->interval_wanted) {
		sampler->interval = sampler->interval_wanted;
		sampler->gap_scale = bp_gap_scale(sampler->interval);
		sampler->look_max = BP_SAMPLER_LOOK_MAX;
		/* Under the law `exact` every m >= T must borrow: never more than T - 1 left. */
		if (sampler->law == BP_SAMPLER_EXACT && sampler->interval - 1 < sampler->look_max)
			sampler->look_max = sampler->interval - 1;
	}
	uint64_t gap = bp_gap(bp_random_next(sampler->random), sampler->gap_scale);
	sampler->undecided = gap >= sampler->look_max;
	return sampler->undecided ? sampler->look_max : gap;
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
	draw(sampler);
	/* An empty countdown that ends in a draw: the first object is looked at, and its gap is
	 * drawn then. */
	sampler->undecided = true;
}

uint64_t bp_sampler_decide(struct bp_sampler *sampler, uint64_t trials_left, size_t size,
	struct bp_decision *ret_decision)
{
	const uint64_t trials = (uint64_t)size + BP_SAMPLER_CHARGE;
	uint64_t left = trials_left + trials; /* before this object */
	sampler->trials += (sampler->armed - left) + trials;
	*ret_decision = (struct bp_decision){ .interval = sampler->interval };
	if (left > sampler->armed) {
		/* Charged again, by a handler, after the borrow: what it took is more than was left.
		 * Discard and draw anew. */
		ret_decision->interrupted = true;
		left = draw(sampler);
	}

	if (sampler->law == BP_SAMPLER_EXACT && trials >= sampler->interval) {
		ret_decision->sampled = ret_decision->exact = true;
		/* Certain, so the countdown is untouched, unless a new T waits: without the memory
		 * of the law a fresh draw is as good. */
		return arm(sampler,
			sampler->interval == sampler->interval_wanted ? left : draw(sampler));
	}
	uint64_t used = 0;
	/* A change of T waits until this object is decided, wholly under the old one. */
	const uint64_t wanted = sampler->interval_wanted;
	sampler->interval_wanted = sampler->interval;
	while (left < trials - used) {
		used += left;
		if (!sampler->undecided) {
			ret_decision->sampled = true;
			ret_decision->offset = used;
			break;
		}
		left = draw(sampler);
	}
	left -= ret_decision->sampled ? 0 : trials - used;
	sampler->interval_wanted = wanted;
	if (ret_decision->sampled || wanted != sampler->interval)
		left = draw(sampler);
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
