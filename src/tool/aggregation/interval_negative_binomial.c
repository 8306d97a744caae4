/* SPDX-License-Identifier: MIT */
/*
 * The negative binomial interval is one of trials. Ours make one trial more per object than it has
 * bytes, so its limits are turned into bytes by the ratio that the samples themselves show; without
 * a sample, by the largest there can be. Numbers of objects have no such ratio: where sizes are
 * mixed, and nobody knows that they are not, the few trials of many small objects are what is not
 * seen. They keep N3.
 */
#include "aggregation/interval_methods.h"
#include "estimate/numeric/negative_binomial.h"

static struct bp_interval negative_binomial(enum bp_negative_binomial method,
	const struct bp_aggregation *aggregation, const struct bp_tally *tally, double ratio,
	double alpha)
{
	const struct bp_hit_sums *hits = &tally->other.hits;
	struct bp_interval interval =
		bp_estimate_negative_binomial(method, aggregation->query.edges, hits->samples,
			hits->after_hits, aggregation->state->interval_max, alpha);
	const double per_trial = hits->trials > 0 ? hits->bytes / hits->trials : ratio;
	interval.estimate = hits->exact_bytes + hits->bytes;
	interval.low = hits->exact_bytes + interval.low * per_trial;
	interval.high = hits->exact_bytes + interval.high * per_trial;
	return interval;
}

struct bp_interval bp_values_negative_binomial(const struct bp_aggregation *aggregation,
	const struct bp_tally *tally, double ratio, double alpha)
{
	return negative_binomial(BP_NEGATIVE_BINOMIAL_EXACT, aggregation, tally, ratio, alpha);
}

struct bp_interval bp_values_camp_paulson(const struct bp_aggregation *aggregation,
	const struct bp_tally *tally, double ratio, double alpha)
{
	return negative_binomial(
		BP_NEGATIVE_BINOMIAL_CAMP_PAULSON, aggregation, tally, ratio, alpha);
}
