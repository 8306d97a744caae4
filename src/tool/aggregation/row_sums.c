/* SPDX-License-Identifier: MIT */
/* What figures.c makes figures of, handed out; see row_sums.h. */
#include "aggregation/row_sums.h"

#include "aggregation/aggregation_state.h"

bool bp_aggregation_is_of_sums(const struct bp_aggregation *aggregation)
{
	const struct bp_query *query = &aggregation->query;
	return query->metric != BP_METRIC_PEAK && query->estimator != BP_ESTIMATOR_CALIBRATED &&
	       !bp_estimator_is_other(query->estimator) && !bp_method_is_of_hits(query->method);
}

static struct bp_row_parts parts_of(const struct bp_tally *tally)
{
	return (struct bp_row_parts){ .sums = &tally->sums, .classes = tally->classes };
}

struct bp_row_parts bp_aggregation_row_parts(const struct bp_aggregation *aggregation, uint32_t i)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_row_sums *row = &state->rows[state->order[i]];
	struct bp_row_parts parts = parts_of(&row->tally);
	if (aggregation->query.by == BP_KEY_SIZE)
		parts.one_size = row->a;
	return parts;
}

struct bp_row_parts bp_aggregation_total_parts(const struct bp_aggregation *aggregation)
{
	return parts_of(&aggregation->state->totals[aggregation->query.metric]);
}

struct bp_row_parts bp_aggregation_outside_parts(const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	return (struct bp_row_parts){ .sums = &state->rest[aggregation->query.metric] };
}

struct bp_row_bounds bp_aggregation_row_bounds(const struct bp_aggregation *aggregation)
{
	static const struct bp_known_total unknown = { 0, UINT64_MAX };
	const struct bp_aggregation_state *state = aggregation->state;
	const enum bp_metric metric = aggregation->query.metric;
	const bool counted = !state->lost_totals;
	return (struct bp_row_bounds){
		.parts = state->parts && metric != BP_METRIC_PEAK,
		.offered = state->window.offered_bytes,
		.offered_objects = state->window.offered_objects,
		.bytes = counted && !aggregation->query.usable ? state->window.bytes : unknown,
		.objects = counted ? state->window.objects : unknown,
		.lower_bound = state->lost_samples || bp_lost_frees_lower(state, metric),
		.upper_bound = metric == BP_METRIC_LIVE && bp_lost_frees_raise(state, metric),
		.size_min = { state->size_min, state->size_min_beside },
	};
}
