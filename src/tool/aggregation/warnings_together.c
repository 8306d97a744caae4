/* SPDX-License-Identifier: MIT */
/* What several files that are summed are to each other, for the warnings (warnings.c). */
#include "aggregation/aggregation_state.h"

bool bp_is_one_process(const struct bp_profile *profile, const struct bp_process *host,
	const struct bp_process *other)
{
	const uint64_t host_ns = bp_process_began_ns(profile, host);
	const uint64_t other_ns = bp_process_began_ns(profile, other);
	const uint64_t apart_ns =
		(host->start_real_ns - host_ns) - (other->start_real_ns - other_ns) + 1000000000;
	return host->host && host->pid == other->pid && host_ns <= other->end_time_ns &&
	       other_ns <= host->end_time_ns && apart_ns <= 2000000000;
}

bool bp_are_snapshots(const struct bp_aggregation *aggregation)
{
	const struct bp_process *processes = aggregation->profile->processes.data;
	for (uint32_t i = 1; i < aggregation->profile->processes.count; i++)
		if (aggregation->state->view.processes[i].included &&
			!(processes[i].lacks & BP_LACKS_TIMES))
			return false;
	return true;
}
