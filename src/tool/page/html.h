/* SPDX-License-Identifier: MIT */
/*
 * A profile as one HTML file that explores itself (docs/page-format.md): a fixed page of HTML, CSS,
 * JavaScript and WebAssembly, built from web/ and embedded here, and the profile as data in it.
 * Nothing of a profile becomes HTML or script: names travel inside compressed JSON, in base64.
 * Called by cli/.
 */
#ifndef BP_PAGE_HTML_H
#define BP_PAGE_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "resident/explained.h"
#include "resident/pages/residency.h"
#include "resident/parts.h"
#include "resident/resident.h"

#define BP_PAGE_BYTES_MAX 5000000u

/* Resident memory of the first process at a moment, since its start. */
struct bp_page_resident {
	uint64_t time_ns, bytes;
	uint64_t anonymous, file, shared; /* which add up to `bytes` */
	uint64_t swapped;		  /* in addition */
};

struct bp_page_options {
	size_t bytes_max; /* the profile is made coarser until the file is no larger */
	/* the lines of source that the frames point at, where they can be read */
	bool embed_source;
	const struct bp_page_resident *resident;
	uint32_t resident_count; /* 0: not known */
	uint32_t resident_pid;	 /* of that process */
	/* The most that it ever had resident, between the looks, too; 0: not known. */
	struct bp_known_total resident_most;
	/* What resident memory was made of, BP_RECONCILED_COUNT moments; NULL: not known. */
	const struct bp_reconciled *resident_parts;
	/* The two looks that were kept, line by line: BP_MAPPINGS_MOMENTS; NULL: not known. */
	const struct bp_parts *resident_lines;
	/* What of live objects was not resident at the last of these looks; NULL: not known. */
	const struct bp_residency *residency;
	/* What a runtime said of its memory, in as many looks; NULL: nothing. Where it said
	 * something no lines of the kernel's are known. */
	const struct bp_parts *runtime_lines;
	bool resident_attached; /* what that process held before it was attached to is not known */
	const struct bp_explained *explained; /* NULL: not known */
};

/* What was written. */
struct bp_page_summary {
	size_t bytes;
	uint32_t cells;
	char pruned[512]; /* what was left out, a sentence; empty: nothing */
};

/* The page of what `shown` selects: its processes and filters, all that happened; its metric is the
 * one that the page shows first. `mapped`: the same selection of what the program mapped itself,
 * which the page has beside it; NULL: that is not known. Errors of the stream are the caller's to
 * find (ferror). */
bool bp_page_write(const struct bp_aggregation *shown, const struct bp_aggregation *mapped,
	const struct bp_page_options *options, FILE *out, struct bp_page_summary *ret_summary,
	struct bp_error *error);

/* JSON of a comparison. */
struct bp_page_diff {
	const char *rows; /* schema bytepoll-diff-1 */
	size_t rows_bytes;
	const char *paths; /* schema bytepoll-diff-paths-1 */
	size_t paths_bytes;
};

/* The same page with a comparison instead of a profile. */
bool bp_page_write_diff(
	const struct bp_page_diff *diff, FILE *out, size_t *ret_bytes, struct bp_error *error);

#endif
