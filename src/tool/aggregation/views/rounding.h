/* SPDX-License-Identifier: MIT */
/*
 * What allocators gave beyond what was asked for: by row, and by requested size with what could be
 * asked for instead. The estimates are Horvitz-Thompson's of usable less requested sizes
 * (docs/statistics.md, "Rounding"). Objects of which the usable size is not known (Python's small
 * objects, some hosts) are left out, and counted.
 *
 * Called by report/rounding.c. Pure but for memory. Thread-safety: as an aggregation.
 */
#ifndef BP_AGGREGATION_VIEWS_ROUNDING_H
#define BP_AGGREGATION_VIEWS_ROUNDING_H

#include "aggregation/aggregate.h"
#include "aggregation/views/usable_sizes.h"

struct bp_rounding_figures {
	uint64_t samples;		 /* of known usable size, of which the figures are made */
	uint64_t unknown_samples;	 /* of which it is not known */
	struct bp_figure lost;		 /* bytes given beyond what was asked for */
	struct bp_figure share;		 /* of what was given, 0 to 1; `unknown` without a sample */
	struct bp_figure asked, objects; /* those of the row, usable size known or not */
};

/* A row of an aggregation, by its number. */
struct bp_rounding_row {
	uint32_t row;
	struct bp_rounding_figures figures;
};

struct bp_rounding_size {
	uint64_t size; /* requested, bytes */
	struct bp_rounding_figures figures;
	/* Several allocators gave it, or the objects were aligned, which has other classes: then
	 * there is no advice. */
	bool several_allocators, aligned;
	struct bp_size_advice advice;
	struct bp_figure saved; /* by following it: of LESS and PERHAPS_LESS, else zero */
};

struct bp_rounding {
	struct bp_rounding_figures all; /* everything that is selected, of the query's metric */
	struct bp_rounding_row *rows;	/* those that lose most first */
	uint32_t row_count, rows_left_out;
	struct bp_rounding_size *sizes; /* likewise */
	uint32_t size_count, sizes_left_out;
	bool in_slots; /* of some small objects it is what the allocator gives for a request alone */
};

/* Of at most `rows` rows and as many sizes. The metric of the aggregation must be live, peak or
 * allocated, its estimator and method the default ones, its bytes as requested. */
bool bp_rounding_make(const struct bp_aggregation *aggregation, uint32_t rows,
	struct bp_rounding *ret_rounding, struct bp_error *error);
void bp_rounding_finish(struct bp_rounding *rounding);

#endif
