/* SPDX-License-Identifier: MIT */
/*
 * The smallest size that can occur, which intervals of objects need (docs/statistics.md, "The interval
 * N3") and samples cannot tell: an assumption, held against what is counted. warnings.c says where the
 * count contradicts it all the same.
 */
#include <math.h>

#include "profile/aggregation_state.h"
#include "profile/row_sums.h"

/* The smallest size in a process is at most the smallest that was sampled, and at most the mean of
 * what was not: how many bytes and objects that were is counted. Where few samples were taken the
 * second says much more. */
uint64_t bp_smallest_size(const struct bp_process *process)
{
	const struct bp_known_total *bytes = &process->bytes_allocated;
	const struct bp_known_total *objects = &process->objects_allocated;
	if (process->size_floor != 0)
		return process->size_floor;
	if (objects->low <= process->samples || bytes->high < process->sampled_bytes)
		return process->size_min;
	uint64_t mean = (bytes->high - process->sampled_bytes) / (objects->low - process->samples);
	return mean < process->size_min ? mean : process->size_min;
}

uint64_t bp_size_of_missing(uint64_t counted, double estimate, double variance, uint64_t interval,
	uint32_t charge, uint64_t size_min)
{
	const double missing = (double)counted - estimate - 2 * sqrt(variance);
	if (!(missing > 1) || interval == 1)
		return size_min;
	const double size = -log1p(-1 / missing) / bp_lambda(interval) - charge;
	if (size >= (double)size_min)
		return size_min;
	return size > 0 ? (uint64_t)size : 0;
}

/* Objects that are missing from the estimate of all, beyond its own noise, are of sizes that were not
 * sampled: the unseen unit must hold at least them. It is 1 / pi of the smallest size, so that size
 * follows. Two standard errors are taken for noise. */
void bp_admit_missing_objects(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_row_bounds bounds = bp_aggregation_row_bounds(aggregation);
	state->size_min_anywhere = bp_size_of_missing(bounds.counted, bounds.estimated,
		bounds.variance, state->interval_unseen, state->charge, state->size_min_told);
	state->size_min = state->size_min_anywhere > state->selection.size_low
				  ? state->size_min_anywhere
				  : state->selection.size_low;
	aggregation->size_min = state->size_min;
}
