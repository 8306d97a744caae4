/* SPDX-License-Identifier: MIT */
/*
 * The estimators of the field, and the sums that the negative binomial interval needs, for
 * comparison with ours (docs/statistics.md, "Estimators and how they relate", "The negative
 * binomial interval"). They look at where in an object the successful byte was, which ours need
 * not.
 */
#include "aggregation/aggregation_state.h"
#include "estimate/weighting.h"

static enum bp_weighting weighting_of(enum bp_estimator estimator)
{
	switch (estimator) {
	case BP_ESTIMATOR_FAILED_TRIALS:
	case BP_ESTIMATOR_TCMALLOC:
		return BP_WEIGHTING_FAILED_TRIALS;
	case BP_ESTIMATOR_HITS:
		return BP_WEIGHTING_HITS;
	case BP_ESTIMATOR_MEMRAY:
		return BP_WEIGHTING_MEMRAY;
	default:
		return BP_WEIGHTING_HT;
	}
}

/* The sums of so many samples like this one. */
static void multiply(struct bp_other_sums *sums, uint32_t count)
{
	struct bp_hit_sums *hits = &sums->hits;
	sums->bytes *= count;
	sums->objects *= count;
	hits->samples *= count;
	hits->after_hits *= count;
	hits->trials *= count;
	hits->bytes *= count;
	hits->exact_bytes *= count;
}

const struct bp_other_sums *bp_look_at_offset(const struct bp_query *query,
	const struct bp_sample *sample, const struct bp_sample_weight *weight,
	struct bp_other_sums *buffer)
{
	bool weighs = bp_estimator_is_other(query->estimator);
	bool counts_hits = bp_method_is_of_hits(query->method);
	if (!weighs && !counts_hits)
		return NULL;
	uint64_t trials = bp_trials(sample->size, weight->charge);
	uint64_t offset = sample->offset < trials ? sample->offset : trials - 1;
	bool certain = sample->exact || sample->interval == 1;
	struct bp_hit_sums *hits = &buffer->hits;
	*buffer = (struct bp_other_sums){ 0 };
	if (weighs) {
		buffer->objects = bp_weighting_of(weighting_of(query->estimator), trials,
			sample->interval, offset, certain, bp_sample_identity(sample));
		buffer->bytes = weight->value * buffer->objects;
	}
	if (counts_hits && certain) {
		hits->exact_bytes = weight->value;
	} else if (counts_hits) {
		hits->samples = 1;
		hits->after_hits = (double)(trials - offset);
		const double objects = bp_weighting_of(
			BP_WEIGHTING_FAILED_TRIALS, trials, sample->interval, offset, false, 0);
		hits->bytes = weight->value * objects;
		hits->trials = (double)trials * objects;
	}
	if (sample->more != 0)
		multiply(buffer, bp_sample_count(sample));
	return buffer;
}
