/* SPDX-License-Identifier: MIT */
/* The comparison of two figures of one moment, and what else is known of that moment; see
 * explained.h. */
#include "resident/explained.h"

/* The part of what is not explained from which on pages of files are named as a cause. */
#define FILES_SHARE 0.25

bool bp_explains_little(
	const struct bp_interval *live, uint64_t resident_bytes, uint64_t apart_bytes)
{
	const double resident = (double)resident_bytes - (double)apart_bytes;
	return live->high < resident / 2 &&
	       resident - live->high >= (double)BP_EXPLAINED_LEAST_BYTES;
}

/* Did malloc hold half of what is resident at an earlier moment? Asked of a peak of everything that
 * this one process did. */
static bool held_more_before(
	const struct bp_aggregation *aggregation, const struct bp_reconciled *moment)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	return peak->known && (aggregation->absent & 1u << BP_METRIC_PEAK) == 0 &&
	       query->filter_count == 0 && !query->has_from && !query->has_to &&
	       aggregation->peak_at_ns <= moment->time_ns &&
	       peak->bytes.interval.low > (double)bp_resident_sum(&moment->point) / 2;
}

/* Of a peak of everything that this one process did, whose own most resident memory is known. */
static uint64_t beyond(const struct bp_aggregation *aggregation, const struct bp_resident *resident)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	struct bp_known_total most;
	if (!peak->known || (aggregation->absent & 1u << BP_METRIC_PEAK) != 0 ||
		peak->bytes.upper_bound || query->filter_count > 0 || query->has_from ||
		query->has_to || bp_resident_is_of_one(resident, aggregation->profile) ||
		!bp_resident_peak(resident, aggregation->profile, &most) || most.high == UINT64_MAX)
		return 0;
	const double bytes = peak->bytes.interval.low - (double)most.high;
	return bytes >= (double)BP_EXPLAINED_LEAST_BYTES ? (uint64_t)bytes : 0;
}

bool bp_explain(const struct bp_aggregation *aggregation, const struct bp_resident *resident,
	bp_own_heaps heaps, struct bp_explained *ret_explained)
{
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	const struct bp_reconciled *highest = &moments[BP_RECONCILED_HIGHEST];
	if (!bp_reconcile(aggregation, resident, moments))
		return false;
	const struct bp_interval *live = &highest->live.interval;
	struct bp_explained explained = { .time_ns = highest->time_ns,
		.one_of_several = bp_resident_is_of_one(resident, aggregation->profile),
		.since_attached = bp_profile_is_attached(aggregation->profile, resident->pid),
		.mappings_known = bp_profile_knows_mappings(aggregation->profile),
		.resident_bytes = bp_resident_sum(&highest->point),
		.file_bytes = highest->point.file + highest->point.shared,
		.malloc_live = highest->live,
		.heaps = heaps,
		.kept = held_more_before(aggregation, highest),
		.peak = aggregation->totals[BP_METRIC_PEAK].bytes,
		.peak_beyond_bytes = beyond(aggregation, resident) };
	explained.little =
		bp_explains_little(live, explained.resident_bytes, highest->recorder_most);
	explained.files = (double)explained.file_bytes >=
			  FILES_SHARE * ((double)explained.resident_bytes - live->high);
	*ret_explained = explained;
	return true;
}

struct bp_interval bp_explained_share(const struct bp_explained *explained)
{
	struct bp_interval share = explained->malloc_live.interval;
	const double whole = (double)explained->resident_bytes;
	share.estimate /= whole;
	share.low /= whole;
	share.high /= whole;
	return share;
}
