/* SPDX-License-Identifier: MIT */
/*
 * Objects handed out in lists (bytepoll/sampler.h): the countdown steps over those that cannot be
 * sampled with one division, and decides the others one by one. Apart from sampler.c, because the
 * recorder has no use for it.
 */
#include "bytepoll/sampler.h"

size_t bp_sampler_charge_list(struct bp_sampler *sampler, struct bp_sampler_hot *hot, size_t size,
	size_t count, struct bp_list_hit *ret_hits, size_t room)
{
	const uint64_t trials = (uint64_t)size + BP_SAMPLER_CHARGE;
	size_t hits = 0;
	hot->objects += count;
	for (size_t done = 0; done < count; done++) {
		struct bp_decision decision;
		const uint64_t passing =
			hot->trials_left / trials; /* before one must be looked at */
		if (passing >= count - done) {
			hot->trials_left -= trials * (count - done);
			break;
		}
		done += (size_t)passing;
		hot->trials_left = bp_sampler_decide(
			sampler, hot->trials_left - trials * (passing + 1), size, &decision);
		if (!decision.sampled)
			continue;
		if (hits < room)
			ret_hits[hits] = (struct bp_list_hit){ done, decision };
		hits++;
	}
	return hits;
}
