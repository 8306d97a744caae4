/* SPDX-License-Identifier: MIT */
/* See shown.h. */
#include "profile/shown.h"

#include <stdlib.h>

#include "profile/aggregation_state.h"

bool bp_next_to_nothing_lives(const struct bp_aggregation *aggregation)
{
	const struct bp_total *live = &aggregation->totals[BP_METRIC_LIVE];
	const struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	const double most = peak->bytes.interval.estimate, left = live->bytes.interval.estimate;
	if (!peak->known || peak->samples == 0)
		return false;
	if (live->samples == 0)
		return true;
	return left <= BP_NEXT_TO_NOTHING_SHARE * most ||
	       (left <= BP_NEXT_TO_NOTHING_UNSURE * most &&
		       live->samples < BP_NEXT_TO_NOTHING_SAMPLES);
}

bool bp_aggregate_shown(const struct bp_profile *profile, const struct bp_query *query,
	bool by_default, struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	struct bp_query asked = *query;
	if (by_default && bp_profile_lacks_frees(profile))
		asked.metric = BP_METRIC_ALLOCATED;
	if (!bp_aggregate(profile, &asked, ret_aggregation, error))
		return false;
	if (!by_default || asked.metric != BP_METRIC_LIVE || asked.has_at ||
		!bp_next_to_nothing_lives(ret_aggregation))
		return true;
	const uint64_t samples = ret_aggregation->totals[BP_METRIC_LIVE].samples;
	bp_aggregation_finish(ret_aggregation);
	asked.metric = BP_METRIC_PEAK;
	if (!bp_aggregate(profile, &asked, ret_aggregation, error))
		return false;
	bp_aggregation_warn(ret_aggregation,
		"next to nothing is live at exit (%llu sample%s): what was live at the peak is "
		"shown instead (--metric live shows the rest)",
		(unsigned long long)samples, samples == 1 ? "" : "s");
	return true;
}

/* ---- allocation functions ---- */

struct skipped {
	struct bp_string_id function;
	uint64_t samples;
};

static int compare_functions(const void *left, const void *right)
{
	const struct skipped *a = left, *b = right;
	return a->function.i < b->function.i ? -1 : a->function.i > b->function.i;
}

static int compare_samples(const void *left, const void *right)
{
	const struct skipped *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return compare_functions(left, right);
}

/* Samples of the aggregation's rows by frame that was passed over. */
static void count_frames(const struct bp_aggregation *aggregation, struct skipped *by_frame)
{
	const struct bp_aggregation_state *state = aggregation->state;
	for (uint32_t i = 0; i < state->cell_count; i++) {
		const struct bp_cell *cell = &state->cells[i];
		const struct bp_stack_id stack = { (uint32_t)cell->id };
		uint32_t count;
		const struct bp_frame_id *frames =
			bp_attribution_frames(&state->attribution, stack, &count);
		if (count == 0 || cell->tally.sums.samples == 0)
			continue;
		for (uint32_t j = bp_attribution_index(&state->attribution, stack); j > 0; j--) {
			struct skipped *frame = &by_frame[frames[j - 1].i];
			frame->function =
				aggregation->profile->frames.data[frames[j - 1].i].function;
			frame->samples += (uint64_t)cell->tally.sums.samples;
		}
	}
}

uint32_t bp_aggregation_charged_to_callers(
	const struct bp_aggregation *aggregation, const char **ret_names, uint32_t capacity)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_query *query = &aggregation->query;
	uint32_t count = 0;
	if (query->by > BP_KEY_MODULE || query->by == BP_KEY_STACK || query->cumulative)
		return 0;
	struct skipped *skipped = calloc(profile->frames.count, sizeof *skipped);
	if (skipped == NULL)
		return 0;
	count_frames(aggregation, skipped);
	qsort(skipped, profile->frames.count, sizeof *skipped, compare_functions);
	for (uint32_t i = 0; i < profile->frames.count; i++) {
		if (skipped[i].samples == 0 || skipped[i].function.i == 0)
			continue;
		if (count > 0 && skipped[count - 1].function.i == skipped[i].function.i)
			skipped[count - 1].samples += skipped[i].samples;
		else
			skipped[count++] = skipped[i];
	}
	qsort(skipped, count, sizeof *skipped, compare_samples);
	for (uint32_t i = 0; i < count && i < capacity; i++)
		ret_names[i] = bp_profile_text(profile, skipped[i].function);
	free(skipped);
	return count;
}
