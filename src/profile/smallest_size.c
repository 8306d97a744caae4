/* SPDX-License-Identifier: MIT */
/*
 * The smallest size that can occur, which intervals of objects need (docs/statistics.md, "The interval
 * N3") and samples cannot tell: an assumption, held against what is counted. warnings.c says where the
 * count contradicts it all the same.
 */
#include <math.h>

#include "profile/aggregation_state.h"

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

/* Objects that are missing from the estimate of all, beyond its own noise, are of sizes that were not
 * sampled: the unseen unit must hold at least them. It is 1 / pi of the smallest size, so that size
 * follows. Two standard errors are taken for noise. */
void bp_admit_missing_objects(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_sums *selected = &state->totals[BP_METRIC_ALLOCATED].sums;
	const struct bp_sums *outside = &state->outside;
	bool counted = (!query->has_from && !query->has_to) || state->has_window;
	if (query->has_size_min || !counted || state->lost_totals || state->lost_samples)
		return;
	double estimate =
		(double)selected->samples + selected->n1 + (double)outside->samples + outside->n1;
	double noise = 2 * sqrt(selected->n2 + outside->n2);
	double missing = (double)state->window.offered_objects.low - estimate - noise;
	if (!(missing > 1) || state->interval_unseen == 1)
		return;
	double size = -log1p(-1 / missing) / bp_lambda(state->interval_unseen) - state->charge;
	if (size >= (double)state->size_min_anywhere)
		return;
	state->size_min_anywhere = size > 0 ? (uint64_t)size : 0;
	state->size_min = state->size_min_anywhere > state->selection.size_low
				  ? state->size_min_anywhere
				  : state->selection.size_low;
	aggregation->size_min = state->size_min;
}
