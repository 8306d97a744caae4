/* SPDX-License-Identifier: MIT */
/* See measure_process.h. */
#include "check/measure_process.h"

#include <math.h>

struct asked {
	const struct bp_profile *profile;
	const struct bp_measuring *measuring;
};

/* A limit on live objects that are not resident. What a sample that is not in place leaves open is
 * in the interval. */
static void measure_absent(const struct asked *asked, struct bp_measure *ret_measure)
{
	const struct bp_residency *residency = asked->measuring->residency;
	struct bp_measure measure = { .blind = BP_BLIND_UNPLACED };
	measure.figure.interval = (struct bp_interval){ NAN, 0, INFINITY, false, true };
	if (residency != NULL) {
		const bool others =
			bp_resident_is_of_one(asked->measuring->resident, asked->profile) &&
			!asked->measuring->only_seen;
		measure.figure.interval = residency->absent;
		measure.error = asked->measuring->a;
		measure.low_holds = true;
		measure.high_holds = residency->unplaced == 0 && !others;
		measure.blind = residency->unplaced > 0 ? BP_BLIND_UNPLACED
				: others		? BP_BLIND_OTHERS
							: BP_BLIND_NOT;
	}
	measure.high_named = measure.figure.interval.high;
	*ret_measure = measure;
}

/* Did each process record what it mapped? (One without a file had nothing to tell.) */
static bool mappings_are_known(const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (!process->mappings_known && process->profiled && process->file.i != 0)
			return false;
	}
	return true;
}

/* A limit on what the program mapped itself, which is counted. */
static void measure_mapped(
	const struct asked *asked, const struct bp_limit *limit, struct bp_measure *ret_measure)
{
	const struct bp_aggregation *mapped = asked->measuring->mapped;
	const bool most = limit->resident == BP_RESIDENT_MAPPED_MOST;
	struct bp_measure measure = { .blind = BP_BLIND_UNMAPPED };
	measure.figure.interval = (struct bp_interval){ NAN, 0, INFINITY, false, true };
	if (mapped != NULL) {
		const struct bp_total *total =
			&mapped->totals[most ? BP_METRIC_PEAK : BP_METRIC_LIVE];
		const bool known =
			mappings_are_known(mapped->profile) || asked->measuring->only_seen;
		measure.figure = total->bytes;
		measure.samples = total->samples;
		measure.low_holds = total->known && total->bytes.interval.exact;
		measure.high_holds = measure.low_holds && known;
		measure.blind = !measure.low_holds ? BP_BLIND_LOST_SAMPLES
				: known		   ? BP_BLIND_NOT
						   : BP_BLIND_PROCESSES;
	}
	measure.high_named = measure.figure.interval.high;
	*ret_measure = measure;
}

/* A limit on what the kernel counts. Nothing is sampled in it. */
static void measure_resident(
	const struct asked *asked, const struct bp_limit *limit, struct bp_measure *ret_measure)
{
	const struct bp_resident *resident = asked->measuring->resident;
	struct bp_known_total found;
	struct bp_measure measure = { .blind = BP_BLIND_UNWATCHED };
	struct bp_interval *interval = &measure.figure.interval;
	*interval = (struct bp_interval){ NAN, 0, INFINITY, false, true };
	if (bp_resident_figure(limit->resident, resident, asked->profile, &found)) {
		const bool to_the_end = resident->end_ns != 0;
		const bool others = bp_resident_is_of_one(resident, asked->profile) &&
				    !asked->measuring->only_seen;
		interval->low = (double)found.low;
		interval->high = (double)found.high;
		interval->exact = found.low == found.high;
		interval->unknown = !interval->exact;
		interval->estimate = interval->exact ? interval->low : NAN;
		/* The most ever is no less than what was seen, whatever came after. */
		measure.low_holds = to_the_end || limit->resident == BP_RESIDENT_MOST;
		measure.high_holds = to_the_end && !others;
		measure.blind = !to_the_end ? BP_BLIND_UNWATCHED
				: others    ? BP_BLIND_OTHERS
					    : BP_BLIND_NOT;
	}
	measure.high_named = interval->high;
	*ret_measure = measure;
}

void bp_measure_process(const struct bp_profile *profile, const struct bp_measuring *measuring,
	const struct bp_limit *limit, struct bp_measure *ret_measure)
{
	const struct asked asked = { profile, measuring };
	if (limit->resident == BP_RESIDENT_ABSENT)
		measure_absent(&asked, ret_measure);
	else if (limit->resident >= BP_RESIDENT_MAPPED)
		measure_mapped(&asked, limit, ret_measure);
	else
		measure_resident(&asked, limit, ret_measure);
}
