/* SPDX-License-Identifier: MIT */
/*
 * Two moments of one run, as a difference: what lives at both has the same samples at both and
 * cancels, so the change is what was allocated in between and still lives, less what was freed in
 * between; both are disjoint sets of objects with independent samples (docs/statistics.md,
 * "Differences"). Divided by the time in between it is growth. Called by cli/.
 */
#ifndef BP_DIFF_DIFF_MOMENTS_H
#define BP_DIFF_DIFF_MOMENTS_H

#include "diff/diff.h"

/* Zeroed memory is empty. `difference` and `runs` point into the aggregations. */
struct bp_diff_moments {
	struct bp_aggregation shown[BP_SIDES]; /* live at each moment */
	struct bp_aggregation
		compared[BP_SIDES]; /* gone by the later, and made since the earlier */
	struct bp_run runs[BP_SIDES];
	struct bp_diff diff;
	uint64_t at_ns[BP_SIDES];
	/* Of a sample of hosts: each by itself, with aggregations and without a `diff` of its own,
	 * and the runs of both sides, base first. The four aggregations above are empty then. */
	struct bp_diff_moments *hosts;
	uint32_t host_count;
	struct bp_run *host_runs;
	/* What the moments are counted from, since 1970; 0: the start of the run. Set by the
	 * caller. */
	uint64_t origin_unix_ns;
};

/* `query` says what is aggregated (metric, moments and window of it are not looked at); the moments
 * are nanoseconds since the start, base < new. Errors: those of bp_aggregate. `profile` must
 * outlive the result, which must not be moved. */
bool bp_diff_moments_make(const struct bp_profile *profile, const struct bp_query *query,
	const uint64_t at_ns[BP_SIDES], const struct bp_diff_query *difference_query,
	const char *file, struct bp_diff_moments *ret_moments, struct bp_error *error);
/* The same of `count` >= 2 hosts, whose mean growth is asked for: `profiles` and `names` are one
 * for each, and must outlive the result. */
bool bp_diff_moments_make_hosts(const struct bp_profile *const *profiles, const char *const *names,
	uint32_t count, const struct bp_query *query, const uint64_t at_ns[BP_SIDES],
	const struct bp_diff_query *difference_query, struct bp_diff_moments *ret_moments,
	struct bp_error *error);

/* What lived at the later moment: of the first host, if there are several. */
static inline const struct bp_aggregation *bp_diff_moments_later(
	const struct bp_diff_moments *moments)
{
	return moments->host_count > 0 ? &moments->hosts[0].shown[BP_NEW] : &moments->shown[BP_NEW];
}

void bp_diff_moments_finish(struct bp_diff_moments *moments);

#endif
