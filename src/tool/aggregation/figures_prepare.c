/* SPDX-License-Identifier: MIT */
/*
 * What figures are made with: the processes' counters, the sampling intervals, and which of the
 * methods of figures.c the query and the losses allow.
 */
#include "aggregation/aggregation_state.h"
#include "query/filter.h"
#include "time/window.h"

#define LAW_BERNOULLI 1 /* bp_process.law, as in a trace */

static struct bp_known_total less(struct bp_known_total total, uint64_t part)
{
	return (struct bp_known_total){ total.low > part ? total.low - part : 0,
		total.high == UINT64_MAX ? UINT64_MAX
		: total.high > part	 ? total.high - part
					 : 0 };
}

static void count_processes(struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_aggregation_state *state = aggregation->state;
	struct bp_counted *counted = &state->counted;
	uint64_t size_min = UINT64_MAX;
	uint32_t charge = UINT32_MAX;
	state->interval_min = UINT64_MAX;
	state->interval_max = 1;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (!state->view.processes[i].included || !process->profiled)
			continue;
		state->profiled = true;
		state->lacks |= process->lacks;
		bp_known_total_add(&counted->bytes, process->bytes_allocated);
		bp_known_total_add(&counted->objects, process->objects_allocated);
		bp_known_total_add(&counted->offered_bytes,
			less(process->bytes_allocated, process->unoffered_bytes));
		bp_known_total_add(&counted->offered_objects,
			less(process->objects_allocated, process->unoffered_objects));
		if (process->interval_max > state->interval_max)
			state->interval_max = process->interval_max;
		const uint64_t least = process->interval_min == 0 ? process->interval_first
								  : process->interval_min;
		if (least < state->interval_min)
			state->interval_min = least;
		state->bernoulli = state->bernoulli || process->law == LAW_BERNOULLI;
		if (process->size_floor < size_min)
			size_min = process->size_floor;
		if (process->charge < charge)
			charge = process->charge;
	}
	state->absent = bp_absent_metrics(state->lacks) |
			(aggregation->profile->mapped ? 1u << BP_METRIC_TEMPORARY : 0) |
			(bp_without_what_lives(&aggregation->query) ? 1u << BP_METRIC_LIVE : 0);
	if (state->interval_min > state->interval_max || state->interval_min == 0)
		state->interval_min = state->interval_max;
	state->several_intervals = state->interval_min < state->interval_max;
	state->size_min = size_min == UINT64_MAX ? 0 : size_min;
	state->charge = charge == UINT32_MAX ? 1 : charge;
}

/* What was counted in the query's window, if the profile has kept what that takes. What was not
 * offered to the sampler may have been there or not. */
static void count_window(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_counted *all = &state->counted;
	struct bp_window_totals totals;
	state->window = state->counted;
	if ((!query->has_from && !query->has_to) || !aggregation->profile->keep_readings)
		return;
	bp_window_totals(&state->view, &totals);
	state->has_window = true;
	state->window =
		(struct bp_counted){ totals.bytes, totals.objects, totals.bytes, totals.objects };
	state->window.offered_bytes.low =
		less(totals.bytes, all->bytes.high - all->offered_bytes.high).low;
	state->window.offered_objects.low =
		less(totals.objects, all->objects.high - all->offered_objects.high).low;
}

/* Is the total of the window known well enough for its parts to profit? With a wide range the
 * limits of a part, which must hold for every total in it, are wider than without. The width is
 * that of the gaps between records at the window's edges; what was sampled inside has no part in
 * it. */
static bool is_tight(const struct bp_aggregation_state *state)
{
	struct bp_known_total total = state->window.bytes;
	return state->has_window && total.high - total.low <= total.high / 8;
}

/* What the query states of sizes must not contradict what was seen. */
static bool check_size_min(const struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_query *query = &aggregation->query;
	uint64_t seen = UINT64_MAX;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (aggregation->state->view.processes[i].included && process->size_min < seen)
			seen = process->size_min;
	}
	if (!query->has_size_min || query->size_min <= seen)
		return true;
	return bp_error_set(error,
		"--min-size %llu: objects of %llu bytes were sampled, so that it is not true",
		(unsigned long long)query->size_min, (unsigned long long)seen);
}

bool bp_figures_prepare(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	count_processes(aggregation);
	if (!check_size_min(aggregation, error))
		return false;
	state->alpha = 1 - query->confidence;
	/* (The bound is for errors up to .09 a side.) */
	const uint64_t unseen = aggregation->sampling.interval_unseen;
	state->interval_unseen = unseen == 0 || state->alpha > 0.18 ? state->interval_max : unseen;
	if (query->has_size_min)
		state->size_min = query->size_min;
	state->size_min_beside = state->size_min;
	if (state->selection.size_low > state->size_min)
		state->size_min = state->selection.size_low;
	aggregation->size_min = state->size_min;
	count_window(aggregation);
	if (state->lacks & BP_LACKS_OBJECT_COUNTERS) { /* (their counters stand still) */
		const struct bp_known_total unknown = { 0, state->window.bytes.high };
		state->window.objects = state->window.offered_objects = unknown;
		state->counted.objects = state->counted.offered_objects = unknown;
	}
	bool whole = !query->has_from && !query->has_to;
	bool complete = (whole || is_tight(state)) && !state->lost_totals && state->profiled &&
			!(state->lacks & BP_LACKS_COUNTERS) &&
			!bp_total_is_open(state->counted.bytes);
	bool counted = complete && !query->usable;
	bool allocated = query->metric == BP_METRIC_ALLOCATED;
	if (query->estimator == BP_ESTIMATOR_CALIBRATED && !counted)
		return bp_error_set(error,
			"--estimator calibrated: the counters of this profile are not complete: "
			"use --estimator ht");
	bool ours = query->estimator == BP_ESTIMATOR_DEFAULT && query->method == BP_METHOD_DEFAULT;
	state->parts = query->estimator == BP_ESTIMATOR_CALIBRATED ||
		       (complete && ours && !state->lost_samples && !state->bernoulli);
	state->calibrated = state->parts && !query->usable;
	state->counted_rows = whole && counted && allocated && query->filter_count == 0 &&
			      (ours || query->estimator == BP_ESTIMATOR_CALIBRATED) &&
			      !(state->lacks & BP_LACKS_OBJECT_COUNTERS) &&
			      (query->by == BP_KEY_THREAD || query->by == BP_KEY_PROCESS ||
				      query->by == BP_KEY_ORIGIN);
	return true;
}
