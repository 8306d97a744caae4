/* SPDX-License-Identifier: MIT */
/*
 * What the hosts of a sample hold on average: one aggregation for each host, matched by stable
 * names as those of a difference are, and for every key the mean of the hosts with an interval that
 * covers how much hosts vary (estimate/diff.h, bp_mean_of_runs; docs/statistics.md, "A sample of
 * hosts"). Where the number of all hosts is known, each host is scaled by it (`scale` of bp_run)
 * all by the same number,
 * and the mean is the sum of all hosts.
 *
 * Called by report/ and cli/fleet. The runs, one for each host, and their profiles must outlive the
 * means. Intervals are computed only for rows that are asked for. One thread at a time.
 */
#ifndef BP_DIFF_MEANS_H
#define BP_DIFF_MEANS_H

#include "diff/diff.h"

struct bp_means {
	const struct bp_run *hosts;
	uint32_t host_count, row_count;
	char **warnings;     /* sentences; NULL-terminated, never NULL itself */
	struct bp_diff diff; /* private: a difference whose base side has no run */
	uint32_t *order;     /* private: keys as shown */
};

struct bp_mean {
	struct bp_figure figure;
	double deviation; /* standard deviation between single hosts, beyond the noise of
			   * sampling; of one host also where the figure is of all */
};

struct bp_means_row {
	const char *name;		  /* NULL by stack; bytes of any kind */
	const struct bp_profile *profile; /* of the frames */
	const struct bp_frame_id *frames; /* by stack: innermost first, as last seen */
	uint32_t frame_count;
	uint64_t samples;    /* of all hosts */
	uint32_t seen_hosts; /* on which there is a sample, or a counted object */
	struct bp_mean bytes, objects;
};

/* Matches the aggregations of `count` >= 2 hosts, which must be of one query, of any metric but the
 * peak. `paths`: rows are call paths from the outermost function on (diff.h), for means_tree.h; the
 * aggregations are by stack. Errors: memory. */
bool bp_means_make(const struct bp_run *hosts, uint32_t count, bool paths,
	struct bp_means *ret_means, struct bp_error *error);
void bp_means_finish(struct bp_means *means);

/* Row `i` < row_count, in the order that the query asks for. */
void bp_means_row(const struct bp_means *means, uint32_t i, struct bp_means_row *ret_row);

/* All that is selected, by host as it was counted where it was. */
void bp_means_total(const struct bp_means *means, struct bp_means_row *ret_row);

#endif
