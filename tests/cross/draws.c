/* SPDX-License-Identifier: MIT */
/*
 * What the sampler draws, in numbers: printed on two machines, the two must be the same to the bit,
 * or runs with a seed would not be repeatable, and what holds of one machine's law would have to be
 * shown for the other's.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bytepoll/sampler.h"

int main(void)
{
	static const uint64_t intervals[] = { 1, 2, 200, 4096, 524288, 3000000, (uint64_t)1 << 40 };
	for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		struct bp_sampler sampler;
		struct bp_sampler_hot hot = { 0, 0 };
		bp_sampler_init(&sampler, 77 + i, intervals[i], (uint32_t)(i % 2));
		for (int looks = 0; looks < 300;) {
			struct bp_decision decision;
			const size_t size = (size_t)(hot.objects * 2654435761u % 70000);
			if (!bp_sampler_crosses(&hot, size))
				continue;
			looks++;
			hot.trials_left =
				bp_sampler_decide(&sampler, hot.trials_left, size, &decision);
			printf("%" PRIu64 " %" PRIu64 " %d %" PRIu64 "\n", hot.objects,
				hot.trials_left, decision.sampled, decision.offset);
		}
	}
	return 0;
}
