/* SPDX-License-Identifier: MIT */
/* What is not known of usable sizes, as sentences: the last of the warnings (warnings.c). */
#include "aggregation/aggregation_state.h"

/* Do sampled objects lie in memory of the recorder, in some process that was asked for? */
static bool has_slots(const struct bp_aggregation *aggregation)
{
	for (uint32_t i = 1; i < aggregation->profile->processes.count; i++)
		if (aggregation->state->view.processes[i].included &&
			aggregation->profile->processes.data[i].samples_in_slots)
			return true;
	return false;
}

bool bp_warn_of_usable_sizes(struct bp_aggregation *aggregation)
{
	const uint64_t unknown = aggregation->state->usable_unknown;
	if (unknown > 0 && !bp_aggregation_warn(aggregation,
				   "the usable size of %llu sample%s is not known: the requested "
				   "size is used",
				   (unsigned long long)unknown, unknown == 1 ? "" : "s"))
		return false;
	return !aggregation->query.usable || aggregation->samples == 0 || !has_slots(aggregation) ||
	       bp_aggregation_warn(aggregation,
		       "usable sizes below 64 KiB are what glibc gives for a request by itself: "
		       "the remainder of a free block that it may add, up to 16 bytes, is in no "
		       "figure (run --in-place records it)");
}
