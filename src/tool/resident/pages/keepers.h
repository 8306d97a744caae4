/* SPDX-License-Identifier: MIT */
/*
 * Whose objects keep pages of the heap resident, in all and by row: of each live sample the shares
 * that it has of its pages (heap_pages.h), summed with the weights of Horvitz and Thompson
 * (docs/statistics.md, "Kept pages"). The shares of all live chunks add up to the pages with a live
 * chunk, which the walk of the heap counted.
 *
 * Called by cli/report.c. Pure but for memory.
 */
#ifndef BP_RESIDENT_PAGES_KEEPERS_H
#define BP_RESIDENT_PAGES_KEEPERS_H

#include "aggregation/aggregate.h"
#include "resident/pages/pages.h"
#include "resident/pages/sample_places.h"

/* Bytes of all. */
struct bp_keeper_figures {
	struct bp_interval kept;    /* shares of resident pages */
	struct bp_interval own;	    /* the objects, as requested */
	struct bp_interval alone;   /* pages on which an object of it is the only live one */
	struct bp_interval touched; /* of each object all its pages: a page may count often */
	/* What would be free without this row, two limits: at least what objects have alone, at
	 * most what they touch, and at most all but pages that objects of other rows have alone. */
	double free_least, free_most;
	uint64_t seen_alone; /* pages, in bytes, on which a sample lives alone */
	uint64_t samples;
};

struct bp_keeper {
	uint32_t row; /* of the aggregation */
	struct bp_keeper_figures figures;
};

/* A sample on pages of the heap, for a picture of it. */
struct bp_kept_sample {
	uint64_t at, bytes; /* its chunk */
	uint32_t keeper;    /* the first that it counts under; UINT32_MAX: none */
	double kept;	    /* estimated */
};

struct bp_keepers {
	struct bp_aggregation aggregation; /* of what lived at the look: names of rows */
	uint64_t at_ns;			   /* since the start of the process */
	uint32_t pid;
	struct bp_heap_page_sums heap; /* counted */
	struct bp_keeper_figures all;
	struct bp_keeper *keepers; /* those with a sample on the heap; the largest estimate of
				    * `kept` first */
	uint32_t count;
	struct bp_kept_sample *samples;
	uint32_t sample_count, sample_capacity;
	uint64_t elsewhere; /* live samples that are not on pages of the heap */
	const struct bp_heap_pages *pages;
};

/* `pages`, whose heap is known, must stay; the places are sorted by this. The query says what rows
 * are by. False with a sentence: no memory, or this recording cannot tell. */
bool bp_keepers_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_pages *pages, struct bp_sample_places *places,
	struct bp_keepers *ret_keepers, struct bp_error *error);
void bp_keepers_finish(struct bp_keepers *keepers);

#endif
