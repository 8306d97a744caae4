/* SPDX-License-Identifier: MIT */
/*
 * What of live objects is not resident, for `bytepoll live`: as of the last look that `run` took at
 * the pages of the process, FILE.pages, which is written anew after each look. To know where
 * sampled objects lie the trace is read once more, so that it is only done when there is another
 * look, and never for more than a twentieth of the time. Not thread-safe.
 */
#ifndef BP_CLI_LIVE_LIVE_RESIDENCY_H
#define BP_CLI_LIVE_LIVE_RESIDENCY_H

#include "aggregation/aggregate.h"
#include "cli/live/live_source.h"
#include "resident/pages/residency.h"

/* Zeroed memory: nothing was read yet. */
struct bp_live_residency {
	bool known;
	struct bp_residency of; /* where `known` */
	/* Private: which look it is of, by which key, and what reading it took. */
	int64_t changed_s, changed_ns;
	enum bp_key by;
	const char *label;
	uint64_t read_at_ns, took_ns;
};

/* Brings it up to date with the source, for rows by the key of `query`, whose other wishes are not
 * looked at. Where there is no look, or one that cannot be read, nothing is known. */
void bp_live_residency_read(struct bp_live_residency *residency,
	const struct bp_live_source *source, const struct bp_query *query);

/* What of the row of this name is not resident; NULL: that is not known. */
const struct bp_residency_row *bp_live_residency_row(
	const struct bp_live_residency *residency, const char *name);

void bp_live_residency_finish(struct bp_live_residency *residency);

#endif
