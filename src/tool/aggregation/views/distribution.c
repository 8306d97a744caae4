/* SPDX-License-Identifier: MIT */
/*
 * One walk over the samples, each into the tallies of its size, its age and its time. What was
 * allocated is counted, so a range of it is part of a known total, and the other ranges are what it
 * is compared with (figures.c). Of a range of sizes the smallest size that can occur is known: its
 * lower end.
 */
#include "aggregation/views/distribution.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"

#define AGE_FIRST_NS 10000u

struct tallies {
	struct bp_tally sizes[BP_SIZE_RANGES], live[BP_SIZE_RANGES];
	struct bp_tally freed[BP_AGE_RANGES], censored[BP_AGE_RANGES];
	struct bp_sums gone; /* what does not live */
	struct bp_tally *times;
	uint32_t time_count;
	uint64_t from_ns, to_ns;
};

static unsigned size_range(uint64_t size)
{
	return size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
}

static unsigned age_range(uint64_t age_ns)
{
	unsigned range = 0;
	for (uint64_t end_ns = AGE_FIRST_NS; range < BP_AGE_RANGES - 1 && age_ns >= end_ns;
		end_ns *= 10)
		range++;
	return range;
}

static bool add_age(const struct bp_view *view, const struct bp_sample *sample,
	const struct bp_sample_weight *weight, struct tallies *tallies)
{
	const uint64_t end_ns = view->processes[sample->process.i].end_ns;
	const bool freed = sample->free_time_ns != BP_TIME_NEVER && sample->free_time_ns <= end_ns;
	const uint64_t until_ns = freed ? sample->free_time_ns : end_ns;
	const uint64_t age_ns = until_ns > sample->time_ns ? until_ns - sample->time_ns : 0;
	return bp_tally_add_sample(
		&(freed ? tallies->freed : tallies->censored)[age_range(age_ns)], weight, NULL);
}

static bool add_time(const struct bp_view *view, const struct bp_sample *sample,
	const struct bp_sample_weight *weight, struct tallies *tallies)
{
	const uint64_t base_ns = view->processes[sample->process.i].base_ns;
	uint64_t time_ns = sample->time_ns > base_ns ? sample->time_ns - base_ns : 0;
	const uint64_t span_ns = tallies->to_ns - tallies->from_ns;
	time_ns = time_ns > tallies->from_ns ? time_ns - tallies->from_ns : 0;
	uint32_t part =
		span_ns == 0 ? 0
			     : (uint32_t)((double)time_ns / (double)span_ns * tallies->time_count);
	if (part >= tallies->time_count)
		part = tallies->time_count - 1;
	return bp_tally_add_sample(&tallies->times[part], weight, NULL);
}

static bool add_sample(const struct bp_aggregation *aggregation, const struct bp_sample *sample,
	struct tallies *tallies)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_process *process = &aggregation->profile->processes.data[sample->process.i];
	const struct bp_moment *live = &state->view.processes[sample->process.i].live;
	const unsigned range = size_range(sample->size);
	struct bp_sample_weight all;
	if (!bp_sample_is_meant(state, sample) || !bp_view_in_window(&state->view, sample))
		return true;
	const struct bp_sample_weight *weight = bp_sample_weight(
		&state->weights, sample, process->charge, aggregation->query.usable);
	weight = bp_sample_weight_of_all(weight, sample, &all);
	if (!bp_tally_add_sample(&tallies->sizes[range], weight, NULL) ||
		!add_age(&state->view, sample, weight, tallies) ||
		!add_time(&state->view, sample, weight, tallies))
		return false;
	if (bp_view_is_live(&state->view, sample, live))
		return bp_tally_add_sample(&tallies->live[range], weight, NULL);
	bp_sums_merge(&tallies->gone, &weight->sums);
	return true;
}

/* A way to look at the aggregation under another metric and smallest size. */
struct lens {
	struct bp_aggregation aggregation;
	struct bp_aggregation_state *state; /* a copy that borrows everything */
	uint64_t size_min;
};

static void take(const struct lens *lens, enum bp_metric metric, uint64_t size_low,
	const struct bp_tally *tally, const struct bp_sums *others, struct bp_amount *ret_amount)
{
	struct bp_aggregation aggregation = lens->aggregation;
	struct bp_row row = { 0 };
	lens->state->size_min = size_low > lens->size_min ? size_low : lens->size_min;
	aggregation.query.metric = metric;
	aggregation.state = lens->state;
	bp_figures_of_tally(&aggregation, tally, others, &row);
	*ret_amount = (struct bp_amount){ row.samples, row.bytes, row.objects };
}

/* All of `tallies` but the one of this number, and what the filters leave out. */
static struct bp_sums all_but(
	const struct lens *lens, const struct bp_tally *tallies, uint32_t count, uint32_t number)
{
	struct bp_sums others = lens->state->outside;
	for (uint32_t i = 0; i < count; i++)
		if (i != number)
			bp_sums_merge(&others, &tallies[i].sums);
	return others;
}

static void take_sizes(
	const struct lens *lens, const struct tallies *tallies, struct bp_distribution *to)
{
	for (unsigned i = 0; i < BP_SIZE_RANGES; i++) {
		struct bp_size_range *range = &to->sizes[i];
		struct bp_sums others = all_but(lens, tallies->sizes, BP_SIZE_RANGES, i);
		range->low = i == 0 ? 0 : UINT64_C(1) << (i - 1);
		range->high = i == 0 ? 0 : range->low + (range->low - 1);
		take(lens, BP_METRIC_ALLOCATED, range->low, &tallies->sizes[i], &others,
			&range->allocated);
		others = all_but(lens, tallies->live, BP_SIZE_RANGES, i);
		bp_sums_merge(&others, &tallies->gone);
		take(lens, BP_METRIC_LIVE, range->low, &tallies->live[i], &others, &range->live);
	}
}

static bool sum_up(const struct lens *lens, const struct bp_tally *tallies,
	const struct bp_tally *rest, enum bp_metric metric, struct bp_amount *ret_amount)
{
	struct bp_tally sum = { 0 };
	struct bp_sums others = lens->state->outside;
	bool good = true;
	for (unsigned i = 0; good && i < BP_AGE_RANGES; i++) {
		good = bp_tally_merge(&sum, &tallies[i]);
		bp_sums_merge(&others, &rest[i].sums);
	}
	if (good)
		take(lens, metric, 0, &sum, &others, ret_amount);
	bp_tally_finish(&sum);
	return good;
}

static bool take_ages(
	const struct lens *lens, const struct tallies *tallies, struct bp_distribution *to)
{
	uint64_t low_ns = 0, high_ns = AGE_FIRST_NS;
	for (unsigned i = 0; i < BP_AGE_RANGES; i++) {
		struct bp_age_range *range = &to->ages[i];
		struct bp_sums others = all_but(lens, tallies->freed, BP_AGE_RANGES, i);
		for (unsigned j = 0; j < BP_AGE_RANGES; j++)
			bp_sums_merge(&others, &tallies->censored[j].sums);
		range->low_ns = low_ns;
		range->high_ns = i == BP_AGE_RANGES - 1 ? BP_TIME_NEVER : high_ns;
		take(lens, BP_METRIC_ALLOCATED, 0, &tallies->freed[i], &others, &range->freed);
		others = all_but(lens, tallies->censored, BP_AGE_RANGES, i);
		for (unsigned j = 0; j < BP_AGE_RANGES; j++)
			bp_sums_merge(&others, &tallies->freed[j].sums);
		take(lens, BP_METRIC_LIVE, 0, &tallies->censored[i], &others, &range->censored);
		low_ns = high_ns;
		high_ns *= 10;
	}
	return sum_up(lens, tallies->freed, tallies->censored, BP_METRIC_ALLOCATED, &to->freed) &&
	       sum_up(lens, tallies->censored, tallies->freed, BP_METRIC_LIVE, &to->censored);
}

static void take_times(
	const struct lens *lens, const struct tallies *tallies, struct bp_distribution *to)
{
	const double part = (double)(tallies->to_ns - tallies->from_ns) / tallies->time_count;
	for (uint32_t i = 0; i < tallies->time_count; i++) {
		struct bp_time_range *range = &to->times[i];
		struct bp_sums others = all_but(lens, tallies->times, tallies->time_count, i);
		range->low_ns = tallies->from_ns + (uint64_t)(part * i);
		range->high_ns = i + 1 == tallies->time_count
					 ? tallies->to_ns
					 : tallies->from_ns + (uint64_t)(part * (i + 1));
		take(lens, BP_METRIC_ALLOCATED, 0, &tallies->times[i], &others, &range->allocated);
	}
}

uint64_t bp_age_resolution_ns(const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	uint64_t coarsest = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (aggregation->state->view.processes[i].included &&
			profile->processes.data[i].folded_ns > coarsest)
			coarsest = profile->processes.data[i].folded_ns;
	return coarsest;
}

static bool take_all(const struct bp_aggregation *aggregation, const struct tallies *tallies,
	struct bp_distribution *to, struct bp_error *error)
{
	struct lens lens = { .aggregation = *aggregation };
	const struct bp_tally nothing = { 0 };
	struct bp_amount unseen;
	lens.state = malloc(sizeof *lens.state);
	if (lens.state == NULL)
		return bp_error_set(error, "out of memory");
	*lens.state = *aggregation->state;
	lens.size_min = lens.state->size_min;
	take_sizes(&lens, tallies, to);
	to->times_known = !(lens.state->lacks & BP_LACKS_TIMES);
	to->ages_known = to->times_known && !(aggregation->lacks & BP_LACKS_FREES);
	to->age_resolution_ns = bp_age_resolution_ns(aggregation);
	take(&lens, BP_METRIC_LIVE, 0, &nothing, NULL, &unseen);
	to->unseen = unseen.bytes;
	bool good = take_ages(&lens, tallies, to);
	take_times(&lens, tallies, to);
	free(lens.state);
	return good || bp_error_set(error, "out of memory");
}

static void finish_tallies(struct tallies *tallies)
{
	for (unsigned i = 0; i < BP_SIZE_RANGES; i++) {
		bp_tally_finish(&tallies->sizes[i]);
		bp_tally_finish(&tallies->live[i]);
	}
	for (unsigned i = 0; i < BP_AGE_RANGES; i++) {
		bp_tally_finish(&tallies->freed[i]);
		bp_tally_finish(&tallies->censored[i]);
	}
	for (uint32_t i = 0; tallies->times != NULL && i < tallies->time_count; i++)
		bp_tally_finish(&tallies->times[i]);
	free(tallies->times);
	free(tallies);
}

bool bp_distribution_make(const struct bp_aggregation *aggregation, uint32_t times,
	struct bp_distribution *ret_distribution, struct bp_error *error)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_samples *samples = &aggregation->profile->samples;
	struct bp_distribution made = { .time_count = times };
	struct tallies *tallies = calloc(1, sizeof *tallies);
	if (tallies == NULL)
		return bp_error_set(error, "out of memory");
	tallies->time_count = times;
	tallies->times = calloc(times, sizeof *tallies->times);
	made.times = calloc(times, sizeof *made.times);
	bool good = tallies->times != NULL && made.times != NULL;
	tallies->to_ns = aggregation->duration_ns;
	if (query->has_to && query->to_ns < tallies->to_ns)
		tallies->to_ns = query->to_ns;
	if (query->has_from)
		tallies->from_ns =
			query->from_ns < tallies->to_ns ? query->from_ns : tallies->to_ns;
	for (uint32_t i = 1; good && i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_samples_get(samples, i);
		good = add_sample(aggregation, &sample, tallies);
	}
	if (!good)
		bp_error_set(error, "out of memory");
	good = good && take_all(aggregation, tallies, &made, error);
	finish_tallies(tallies);
	if (good)
		*ret_distribution = made;
	else
		bp_distribution_finish(&made);
	return good;
}

void bp_distribution_finish(struct bp_distribution *distribution)
{
	free(distribution->times);
	memset(distribution, 0, sizeof *distribution);
}
