/* SPDX-License-Identifier: MIT */
/* Four aggregations of one profile; see diff_moments.h. */
#include "diff/diff_moments.h"

#include <stdlib.h>
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

static bool begin(
	const uint64_t at_ns[BP_SIDES], struct bp_diff_moments *ret_moments, struct bp_error *error)
{
	memset(ret_moments, 0, sizeof *ret_moments);
	if (at_ns[BP_BASE] >= at_ns[BP_NEW])
		return bp_error_set(error, "the second moment must be later than the first one");
	for (int side = 0; side < BP_SIDES; side++)
		ret_moments->at_ns[side] = at_ns[side];
	return true;
}

/* Both moments of one profile. */
static bool aggregate_sides(const struct bp_profile *profile, const struct bp_query *query,
	const char *file, struct bp_diff_moments *moments, struct bp_error *error)
{
	for (int side = 0; side < BP_SIDES; side++) {
		if (!aggregate_side(profile, query, side, moments, error))
			return false;
		moments->runs[side] = (struct bp_run){ .shown = &moments->shown[side],
			.compared = &moments->compared[side],
			.scale = 1,
			.file = file };
	}
	return true;
}

bool bp_diff_moments_make_hosts(const struct bp_profile *const *profiles, const char *const *names,
	uint32_t count, const struct bp_query *query, const uint64_t at_ns[BP_SIDES],
	const struct bp_diff_query *difference_query, struct bp_diff_moments *ret_moments,
	struct bp_error *error)
{
	struct bp_diff_query asked = *difference_query;
	asked.moments = asked.pairs = true;
	if (!begin(at_ns, ret_moments, error))
		return false;
	ret_moments->hosts = calloc(count, sizeof *ret_moments->hosts);
	ret_moments->host_runs = calloc((size_t)count * BP_SIDES, sizeof *ret_moments->host_runs);
	bool good = (ret_moments->hosts != NULL && ret_moments->host_runs != NULL) ||
		    bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < count; i++) {
		struct bp_diff_moments *host = &ret_moments->hosts[i];
		good = begin(at_ns, host, error);
		ret_moments->host_count += good;
		good = good && aggregate_sides(profiles[i], query, names[i], host, error);
		ret_moments->host_runs[i] = host->runs[BP_BASE];
		ret_moments->host_runs[count + i] = host->runs[BP_NEW];
	}
	if (good && bp_diff_make(&asked, ret_moments->host_runs, count,
			    ret_moments->host_runs + count, count, &ret_moments->diff, error))
		return true;
	bp_diff_moments_finish(ret_moments);
	return false;
}

bool bp_diff_moments_make(const struct bp_profile *profile, const struct bp_query *query,
	const uint64_t at_ns[BP_SIDES], const struct bp_diff_query *difference_query,
	const char *file, struct bp_diff_moments *ret_moments, struct bp_error *error)
{
	struct bp_diff_query asked = *difference_query;
	asked.moments = true;
	if (!begin(at_ns, ret_moments, error))
		return false;
	if (aggregate_sides(profile, query, file, ret_moments, error) &&
		bp_diff_make(&asked, &ret_moments->runs[BP_BASE], 1, &ret_moments->runs[BP_NEW], 1,
			&ret_moments->diff, error))
		return true;
	bp_diff_moments_finish(ret_moments);
	return false;
}

static void finish_aggregations(struct bp_diff_moments *moments)
{
	for (int side = 0; side < BP_SIDES; side++) {
		bp_aggregation_finish(&moments->shown[side]);
		bp_aggregation_finish(&moments->compared[side]);
	}
}

void bp_diff_moments_finish(struct bp_diff_moments *moments)
{
	bp_diff_finish(&moments->diff);
	finish_aggregations(moments);
	for (uint32_t i = 0; i < moments->host_count; i++)
		finish_aggregations(&moments->hosts[i]);
	free(moments->hosts);
	free(moments->host_runs);
	memset(moments, 0, sizeof *moments);
}
