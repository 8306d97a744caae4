/* SPDX-License-Identifier: MIT */
/* The interval N3 of bytes, by size classes where an object of any size may have been missed
 * (docs/statistics.md, "N3"). */
#include "aggregation/interval_methods.h"

struct bp_interval bp_values_n3(const struct bp_aggregation *aggregation,
	const struct bp_tally *tally, double ratio, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	if (tally->classes != NULL)
		return bp_estimate_values_by_classes(
			tally->classes, state->interval_unseen, ratio, alpha);
	return bp_estimate_values(&tally->sums, state->interval_unseen, ratio, alpha);
}
