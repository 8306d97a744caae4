/* SPDX-License-Identifier: MIT */
/* Four aggregations of one profile; see diff_moments.h. */
#include "diff/diff_moments.h"

#include <string.h>

static bool aggregate_side(const struct bp_profile *profile, const struct bp_query *asked, int side,
	struct bp_diff_moments *moments, struct bp_error *error)
{
	struct bp_query query = *asked;
	query.metric = BP_METRIC_LIVE;
	query.estimator = BP_ESTIMATOR_HT;
	query.has_at = true;
	query.has_from = query.has_to = query.has_gone_by = false;
	query.at_ns = moments->at_ns[side];
	query.without_peak = true;
	if (!bp_aggregate(profile, &query, &moments->shown[side], error))
		return false;
	if (side == BP_BASE) {
		query.has_gone_by = true;
		query.gone_by_ns = moments->at_ns[BP_NEW];
	} else {
		/* What was allocated at the moment itself is live then. */
		query.has_from = true;
		query.from_ns = moments->at_ns[BP_BASE] + 1;
	}
	return bp_aggregate(profile, &query, &moments->compared[side], error);
}

bool bp_diff_moments_make(const struct bp_profile *profile, const struct bp_query *query,
	const uint64_t at_ns[BP_SIDES], const struct bp_diff_query *difference_query,
	const char *file, struct bp_diff_moments *ret_moments, struct bp_error *error)
{
	struct bp_diff_query asked = *difference_query;
	asked.moments = true;
	memset(ret_moments, 0, sizeof *ret_moments);
	if (at_ns[BP_BASE] >= at_ns[BP_NEW])
		return bp_error_set(error, "the second moment must be later than the first one");
	for (int side = 0; side < BP_SIDES; side++)
		ret_moments->at_ns[side] = at_ns[side];
	for (int side = 0; side < BP_SIDES; side++) {
		if (!aggregate_side(profile, query, side, ret_moments, error))
			goto fail;
		ret_moments->runs[side] = (struct bp_run){ .shown = &ret_moments->shown[side],
			.compared = &ret_moments->compared[side],
			.scale = 1,
			.file = file };
	}
	if (bp_diff_make(&asked, &ret_moments->runs[BP_BASE], 1, &ret_moments->runs[BP_NEW], 1,
		    &ret_moments->diff, error))
		return true;
fail:
	bp_diff_moments_finish(ret_moments);
	return false;
}

void bp_diff_moments_finish(struct bp_diff_moments *moments)
{
	bp_diff_finish(&moments->diff);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_aggregation_finish(&moments->shown[side]);
		bp_aggregation_finish(&moments->compared[side]);
	}
	memset(moments, 0, sizeof *moments);
}
