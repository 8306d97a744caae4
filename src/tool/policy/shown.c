/* SPDX-License-Identifier: MIT */
/* See shown.h. */
#include "policy/shown.h"

#include <math.h>
#include <stdlib.h>

#include "aggregation/aggregation_state.h"
#include "base/attributes.h"
#include "estimate/diff.h"
#include "policy/defaults.h"

bool bp_little_lives(const struct bp_aggregation *aggregation)
{
	const struct bp_total *live = &aggregation->totals[BP_METRIC_LIVE];
	const struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	if (!peak->known || peak->samples == 0)
		return false;
	return live->samples == 0 || live->bytes.interval.estimate <=
					     BP_LITTLE_LIVES_SHARE * peak->bytes.interval.estimate;
}

bool bp_aggregate_shown(const struct bp_profile *profile, const struct bp_query *query,
	bool by_default, struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	struct bp_query asked = *query;
	if (by_default)
		asked.metric = bp_default_metric(profile, &asked);
	if (!bp_aggregate(profile, &asked, ret_aggregation, error))
		return false;
	if (!by_default || asked.metric != BP_METRIC_LIVE || asked.has_at ||
		!bp_little_lives(ret_aggregation))
		return true;
	bp_aggregation_finish(ret_aggregation);
	asked.metric = BP_METRIC_PEAK;
	if (!bp_aggregate(profile, &asked, ret_aggregation, error))
		return false;
	ret_aggregation->peak_instead = true;
	return true;
}

struct bp_figure bp_shown_peak(const struct bp_figure *peak)
{
	struct bp_figure shown = *peak;
	/* (After losses of samples and frees no limit holds: "about 29 KiB".) */
	if (!peak->interval.exact && !(peak->lower_bound && peak->upper_bound))
		shown.interval.unknown = true;
	return shown;
}

/* ---- differences ---- */

/* Is there so little live at the end that there is nothing to compare, or that the peak says
 * more? */
static bool too_little_lives(const struct bp_run *runs, uint32_t count)
{
	bool everywhere = true;
	uint64_t samples = 0;
	double worth = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_aggregation *run = runs[i].shown;
		const struct bp_total *live = &run->totals[BP_METRIC_LIVE];
		samples += live->samples;
		worth += live->bytes.interval.estimate /
			 (double)bp_aggregation_assumptions(run).interval_max;
		everywhere = everywhere && bp_little_lives(run);
	}
	return everywhere || (samples < BP_DIFF_SAMPLES_LEAST && worth < BP_DIFF_SAMPLES_LEAST);
}

/* Can the peaks be compared? Several runs have theirs at as many moments. */
static bool has_peaks(const struct bp_run *runs, uint32_t count)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_total *peak = &runs[i].shown->totals[BP_METRIC_PEAK];
		samples += peak->known ? peak->samples : 0;
	}
	return count == BP_SIDES && samples >= BP_DIFF_SAMPLES_LEAST;
}

enum bp_metric bp_shown_metric_of_runs(const struct bp_run *runs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!runs[i].shown->totals[BP_METRIC_ALLOCATED].known)
			return BP_METRIC_LIVE; /* a profile of what is live alone */
	if (!too_little_lives(runs, count))
		return BP_METRIC_LIVE;
	return has_peaks(runs, count) ? BP_METRIC_PEAK : BP_METRIC_ALLOCATED;
}

/* By how much a total of two runs has changed, for certain as far as its intervals hold; false: not
 * known, or by less than is worth a word. */
static bool has_changed(
	const struct bp_diff *diff, enum bp_metric metric, struct bp_interval *ret_change)
{
	struct bp_interval sides[BP_SIDES];
	for (int side = 0; side < BP_SIDES; side++) {
		const struct bp_run *run = &diff->runs[side][0];
		const struct bp_total *total = &run->shown->totals[metric];
		sides[side] = total->bytes.interval;
		if (!total->known || sides[side].unknown || total->bytes.lower_bound ||
			total->bytes.upper_bound)
			return false;
		sides[side].estimate *= run->scale;
		sides[side].low *= run->scale;
		sides[side].high *= run->scale;
	}
	const struct bp_interval *base = &sides[BP_BASE], *new = &sides[BP_NEW];
	*ret_change = (struct bp_interval){ .estimate = new->estimate - base->estimate,
		.low = new->low - base->high,
		.high = new->high - base->low,
		.exact = base->exact &&new->exact };
	return fmax(ret_change->low, -ret_change->high) >
	       BP_WORTH_A_WORD_SHARE * fmax(base->estimate, new->estimate);
}

bool bp_diff_other_metric(
	const struct bp_diff *diff, enum bp_metric *ret_metric, struct bp_interval *ret_change)
{
	static const enum bp_metric others[] = { BP_METRIC_PEAK, BP_METRIC_LIVE,
		BP_METRIC_ALLOCATED };
	const struct bp_query *query = &diff->runs[BP_NEW][0].shown->query;
	struct bp_diff_row total;
	if (diff->query.moments || diff->query.objects || query->has_at ||
		diff->run_count[BP_BASE] != 1 || diff->run_count[BP_NEW] != 1)
		return false;
	bp_diff_total(diff, &total);
	if (diff->verdict_count > 0 || total.verdict == BP_VERDICT_GREW ||
		total.verdict == BP_VERDICT_SHRANK)
		return false;
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (others[i] != query->metric && has_changed(diff, others[i], ret_change)) {
			*ret_metric = others[i];
			return true;
		}
	return false;
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

/* Samples of the aggregation's rows by frame that was passed over as an allocation function's.
 * (Above a frame of Python others are passed over, too, whose callers these are not.) */
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
		const uint32_t attributed = bp_attribution_index(&state->attribution, stack);
		if (aggregation->profile->frames.data[frames[attributed].i].interpreted)
			continue;
		for (uint32_t j = attributed; j > 0; j--) {
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
