/* SPDX-License-Identifier: MIT */
/*
 * A limit on what a host of many holds on average, of which a few were recorded. The two one-sided
 * limits are those of bp_mean_of_runs, which cover how much hosts differ: the lower one is made of
 * the sides without what has no name, the upper one of those with it, as everywhere (check.h). What
 * was allocated while sampling was off stands whole in the upper one.
 */
#include <math.h>
#include <stdlib.h>

#include "check/check.h"

/* All hosts together. */
struct sample {
	struct bp_side *sides, *sides_high; /* by host */
	double off;			    /* mean of a host */
};

static void collect(const struct bp_measure *const *hosts, uint32_t count, double scale,
	struct sample *sample, struct bp_check_result *result)
{
	sample->off = 0;
	result->low_holds = result->high_holds = true;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_measure *host = hosts[i];
		sample->sides[i] = bp_side_scale(host->side, scale);
		sample->sides_high[i] = bp_side_scale(host->side_high, scale);
		sample->off += scale * host->off / count;
		result->low_holds = result->low_holds && host->low_holds;
		result->high_holds = result->high_holds && host->high_holds;
		result->samples += host->samples;
		result->unnamed_samples += host->unnamed_samples;
		if (host->interval_max > result->interval_max)
			result->interval_max = host->interval_max;
		/* (The worst comes first in the enum.) */
		if (host->blind != BP_BLIND_NOT &&
			(result->blind == BP_BLIND_NOT || host->blind < result->blind))
			result->blind = host->blind;
	}
}

/* The limits that sampling alone would leave these hosts, as if there were no others. */
static struct bp_bounds sampled(const struct sample *sample, uint32_t count, double a)
{
	const struct bp_side nothing = bp_side_of_count(0);
	const struct bp_side low = bp_check_mean(sample->sides, count);
	const struct bp_side high = bp_check_mean(sample->sides_high, count);
	return (struct bp_bounds){ bp_diff_pair(&nothing, &low, 2 * a).difference.low,
		bp_diff_pair(&nothing, &high, 2 * a).difference.high + sample->off };
}

static void explain(
	const struct sample *sample, uint32_t count, double a, struct bp_check_result *result)
{
	const struct bp_side mean = bp_check_mean(sample->sides, count);
	const double most = result->limit->most;
	if (!result->low_holds || !result->high_holds) {
		result->reason = BP_REASON_BLIND;
	} else if (sample->off > 0 && result->figure.interval.high - sample->off <= most) {
		result->reason = BP_REASON_BLIND;
		result->blind = BP_BLIND_OFF;
	} else if (bp_check_outcome(sampled(sample, count, a), most) != BP_OUTCOME_UNDECIDED) {
		result->reason = BP_REASON_RUNS;
	} else {
		const struct bp_check_evidence evidence = { .known = mean.certain,
			.rest = fmax(0, mean.estimate - mean.certain),
			.variance = mean.variance,
			.unit = mean.unit,
			.interval = result->interval_max };
		result->need = bp_check_need(evidence, most, a, a);
		result->reason = result->need.decidable ? BP_REASON_SAMPLES : BP_REASON_NEAR;
		result->never_within = most < bp_check_least(mean.unit, a);
	}
}

static void judge(
	const struct sample *sample, uint32_t count, double a, struct bp_check_result *result)
{
	struct bp_interval interval = bp_mean_of_runs(sample->sides, count, 2 * a);
	interval.high =
		fmax(interval.high, bp_mean_of_runs(sample->sides_high, count, 2 * a).high) +
		sample->off;
	interval.exact = false;
	result->figure = (struct bp_figure){ .interval = interval,
		.lower_bound = !result->high_holds,
		.upper_bound = !result->low_holds };
	result->nothing_matches = result->limit->filter_text != NULL && result->samples == 0;
	const struct bp_bounds bounds = { result->low_holds ? interval.low : -INFINITY,
		result->high_holds ? interval.high : INFINITY };
	result->outcome = bp_check_outcome(bounds, result->limit->most);
	if (result->outcome == BP_OUTCOME_UNDECIDED)
		explain(sample, count, a, result);
}

bool bp_check_hosts(const struct bp_limit *limit, const struct bp_measure *const *hosts,
	uint32_t count, uint32_t all_hosts, const char *file, double a,
	struct bp_check_result *ret_result, struct bp_error *error)
{
	struct bp_check_result result = { .limit = limit, .file = file, .a = a, .error = a };
	struct sample sample = { .sides = calloc(count, sizeof *sample.sides),
		.sides_high = calloc(count, sizeof *sample.sides_high) };
	const bool good = sample.sides != NULL && sample.sides_high != NULL;
	if (good) {
		collect(hosts, count, all_hosts > 0 ? all_hosts : 1, &sample, &result);
		judge(&sample, count, a, &result);
		*ret_result = result;
	}
	free(sample.sides);
	free(sample.sides_high);
	return good || bp_error_set(error, "out of memory");
}
