/* SPDX-License-Identifier: MIT */
/*
 * The heap over time with its confidence band. An object is live at a range of the moments, and the
 * sums of a moment are those of all objects whose range holds it. Sums can be added but not
 * subtracted (docs/statistics.md, "Sums per key"), so the band is not computed by a walk that
 * adds allocations and subtracts frees. Instead there is a binary tree whose leaves are the moments
 * in their order. A node has the sum of what is live at all leaves below it, but not at all leaves
 * of its sibling. A sample goes into at most two nodes per level, and the sums of a moment are
 * those of the nodes from its leaf to the root, added up.
 */
#include <stdlib.h>

#include "aggregation/aggregation_state.h"

struct band {
	const struct bp_aggregation *aggregation;
	uint32_t count;	    /* of moments */
	uint64_t *times_ns; /* of the moments, since the start */
	struct bp_tally
		*nodes; /* 2 count: node i has the children 2 i and 2 i + 1, leaves from count on */
	struct bp_sums *rests; /* likewise of what is selected and not live at all leaves below */
};

/* The moment as one process sees it: after everything that happened then. */
static struct bp_moment moment_of(
	const struct band *band, const struct bp_sample *sample, uint32_t number)
{
	uint64_t base_ns = band->aggregation->state->view.processes[sample->process.i].base_ns;
	return (struct bp_moment){ base_ns + band->times_ns[number], UINT64_MAX - 1, UINT32_MAX };
}

/* The first moment that is not before `event`. */
static uint32_t first_from(
	const struct band *band, const struct bp_sample *sample, const struct bp_moment *event)
{
	uint32_t low = 0, high = band->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct bp_moment moment = moment_of(band, sample, middle);
		if (bp_moment_before(&moment, event))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds a sample to the moments from `first` up to `end`. */
static bool add_range(struct band *band, const struct bp_sample_weight *weight,
	const struct bp_other_sums *other, uint32_t first, uint32_t end)
{
	uint32_t left = first + band->count, right = end + band->count;
	for (; left < right; left /= 2, right /= 2) {
		if (left & 1 && !bp_tally_add_sample(&band->nodes[left++], weight, other))
			return false;
		if (right & 1 && !bp_tally_add_sample(&band->nodes[--right], weight, other))
			return false;
	}
	return true;
}

/* The same of what does not live at these moments. */
static void add_rest(
	struct band *band, const struct bp_sample_weight *weight, uint32_t first, uint32_t end)
{
	uint32_t left = first + band->count, right = end + band->count;
	for (; left < right; left /= 2, right /= 2) {
		if (left & 1)
			bp_sums_merge(&band->rests[left++], &weight->sums);
		if (right & 1)
			bp_sums_merge(&band->rests[--right], &weight->sums);
	}
}

static bool add_sample(
	struct band *band, struct bp_weight_cache *weights, const struct bp_sample *sample)
{
	const struct bp_aggregation *aggregation = band->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	struct bp_other_sums buffer;
	if (!bp_sample_is_meant(state, sample))
		return true;
	uint32_t charge = aggregation->profile->processes.data[sample->process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(weights, sample, charge, aggregation->query.usable);
	struct bp_sample_weight all;
	weight = bp_sample_weight_of_all(weight, sample, &all);
	struct bp_moment birth = bp_view_birth(sample), death = bp_view_death(&state->view, sample);
	const struct bp_other_sums *other =
		bp_look_at_offset(&aggregation->query, sample, weight, &buffer);
	const uint32_t first = first_from(band, sample, &birth);
	const uint32_t end = first_from(band, sample, &death);
	if (state->parts) {
		add_rest(band, weight, 0, first < end ? first : band->count);
		add_rest(band, weight, first < end ? end : band->count, band->count);
	}
	return add_range(band, weight, other, first, end);
}

static bool fill(struct band *band)
{
	const struct bp_profile *profile = band->aggregation->profile;
	struct bp_weight_cache *weights = calloc(1, sizeof *weights);
	bool good = weights != NULL;
	for (uint32_t i = 1; good && i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		good = add_sample(band, weights, &sample);
	}
	free(weights);
	return good;
}

/* The last moment is the end, with which a pause that nobody ended ends too: what was before it. */
static uint64_t time_before(const struct band *band, uint32_t number)
{
	const uint64_t time_ns = band->times_ns[number];
	const bool last = number + 1 == band->count && time_ns > 0;
	return last ? time_ns - 1 : time_ns;
}

static bool read_moment(
	const struct band *band, uint32_t number, struct bp_moment_figures *ret_moment)
{
	struct bp_tally tally = { 0 };
	struct bp_sums others = band->aggregation->state->outside;
	const struct bp_query *query = &band->aggregation->query;
	const bool windowed = query->has_from || query->has_to;
	struct bp_row row;
	bool good = true;
	for (uint32_t i = number + band->count; good && i > 0; i /= 2) {
		good = bp_tally_merge(&tally, &band->nodes[i]);
		bp_sums_merge(&others, &band->rests[i]);
	}
	if (good) {
		/* (What is live in a window may have been allocated before it.) */
		bp_figures_of_tally(band->aggregation, &tally, windowed ? NULL : &others, &row);
		const struct bp_sampling *sampling = &band->aggregation->sampling;
		const uint64_t time_ns = time_before(band, number);
		*ret_moment = (struct bp_moment_figures){ band->times_ns[number], row.samples,
			row.bytes, row.objects, bp_sampling_is_off(sampling, time_ns),
			bp_sampling_has_outage(sampling, time_ns) };
	}
	bp_tally_finish(&tally);
	return good;
}

bool bp_aggregation_timeline(const struct bp_aggregation *aggregation, uint32_t count,
	struct bp_moment_figures *ret_moments, struct bp_error *error)
{
	const struct bp_view *view = &aggregation->state->view;
	uint64_t end_ns = view->to_ns < view->at_ns ? view->to_ns : view->at_ns;
	uint64_t length_ns = end_ns > view->from_ns ? end_ns - view->from_ns : 0;
	struct band band = { .aggregation = aggregation, .count = count };
	band.times_ns = calloc(count, sizeof *band.times_ns);
	band.nodes = calloc(count, 2 * sizeof *band.nodes);
	band.rests = calloc(count, 2 * sizeof *band.rests);
	bool good = band.times_ns != NULL && band.nodes != NULL && band.rests != NULL;
	for (uint32_t i = 0; good && i < count; i++)
		band.times_ns[i] = view->from_ns + (uint64_t)((double)length_ns *
							      ((double)i / (double)(count - 1)));
	good = good && fill(&band);
	for (uint32_t i = 0; good && i < count; i++)
		good = read_moment(&band, i, &ret_moments[i]);
	for (uint32_t i = 0; band.nodes != NULL && i < 2 * count; i++)
		bp_tally_finish(&band.nodes[i]);
	free(band.times_ns);
	free(band.nodes);
	free(band.rests);
	return good || bp_error_set(error, "out of memory");
}
