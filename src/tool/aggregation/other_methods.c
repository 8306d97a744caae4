/* SPDX-License-Identifier: MIT */
/*
 * The estimators and intervals of the field, for comparison with ours (docs/statistics.md,
 * "Estimators and how they relate", "The negative binomial interval"). They look at where in an
 * object the successful byte was, which ours need not.
 *
 * The negative binomial interval is one of trials. Ours make one trial more per object than it has
 * bytes, so its limits are turned into bytes by the ratio that the samples themselves show; without
 * a sample, by the largest there can be. Numbers of objects have no such ratio: where sizes are
 * mixed, and nobody knows that they are not, the few trials of many small objects are what is not
 * seen. They keep N3.
 */
#include "aggregation/aggregation_state.h"
#include "estimate/negative_binomial.h"
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
	bool counts_hits = bp_method_is_negative_binomial(query->method);
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

struct bp_interval bp_negative_binomial_of(const struct bp_aggregation *aggregation,
	const struct bp_tally *tally, double alpha, double unit)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_hit_sums *hits = &tally->other.hits;
	enum bp_negative_binomial method = query->method == BP_METHOD_CAMP_PAULSON
						   ? BP_NEGATIVE_BINOMIAL_CAMP_PAULSON
						   : BP_NEGATIVE_BINOMIAL_EXACT;
	struct bp_interval interval = bp_estimate_negative_binomial(method, query->edges,
		hits->samples, hits->after_hits, aggregation->state->interval_max, alpha);
	const double per_trial = hits->trials > 0 ? hits->bytes / hits->trials : unit;
	interval.estimate = hits->exact_bytes + hits->bytes;
	interval.low = hits->exact_bytes + interval.low * per_trial;
	interval.high = hits->exact_bytes + interval.high * per_trial;
	return interval;
}
