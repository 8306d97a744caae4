/* SPDX-License-Identifier: MIT */
/*
 * Filters may ask where objects were freed, which is not known of all objects: a free in a signal
 * handler has no stack if the recorder was at work, nor has a free by a function without a hook,
 * nor a free in a process that was recorded without stacks of frees. This is the last of the
 * warnings (warnings.c).
 */
#include "aggregation/aggregation_state.h"
#include "query/filter.h"

const char *bp_effect_of_lost_frees(const struct bp_aggregation_state *state)
{
	return state->selection.free_stacks != NULL ? "estimates are lower bounds"
						    : "live and peak may be too large";
}

bool bp_warn_of_freed_somewhere(struct bp_aggregation *aggregation)
{
	const uint64_t samples = aggregation->state->freed_somewhere;
	return samples == 0 ||
	       bp_aggregation_warn(aggregation,
		       "it is not known where %llu sample%s freed: --filter " BP_FREED_BY
		       " passes %s under the name " BP_FREED_SOMEWHERE " alone",
		       (unsigned long long)samples, samples == 1 ? " was" : "s were",
		       samples == 1 ? "it" : "them");
}
