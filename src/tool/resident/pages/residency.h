/* SPDX-License-Identifier: MIT */
/*
 * How much of what lives is not resident, in all and by row: of each live sample the bytes on pages
 * that were not present (pages.h), summed with the weights of Horvitz and Thompson
 * (docs/statistics.md, "Not resident"). Samples that lie in memory of the recorder, or whose place
 * is not known, may be resident or not: they widen the interval by all of their bytes.
 *
 * Called by cli/report.c. Pure but for memory.
 */
#ifndef BP_RESIDENT_PAGES_RESIDENCY_H
#define BP_RESIDENT_PAGES_RESIDENCY_H

#include "aggregation/aggregate.h"
#include "resident/pages/pages.h"
#include "resident/pages/sample_places.h"

struct bp_residency_row {
	char *name; /* owned; bytes of any kind */
	struct bp_interval live, absent;
};

#define BP_RESIDENCY_ROWS 8u

struct bp_residency {
	uint64_t at_ns; /* since the start of the process */
	struct bp_interval live, absent;
	uint64_t unplaced; /* live samples whose place is not known */
	struct bp_residency_row rows[BP_RESIDENCY_ROWS];
	uint32_t row_count;
};

/* The places are sorted by this. The query says what rows are by. */
bool bp_residency_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_pages *pages, struct bp_sample_places *places,
	struct bp_residency *ret_residency, struct bp_error *error);
void bp_residency_finish(struct bp_residency *residency);

#endif
