/* SPDX-License-Identifier: MIT */
/*
 * The sums behind the figures of an aggregation, for whoever adds them up elsewhere: over threads,
 * hosts, days (docs/statistics.md, "Sums per key"). With the assumptions given here the functions
 * of estimate/ make the same figures of them as figures.c does. Called by src/tool/library.
 * Thread-safety: reading of a finished aggregation.
 */
#ifndef BP_AGGREGATION_ROW_SUMS_H
#define BP_AGGREGATION_ROW_SUMS_H

#include "aggregation/aggregate.h"
#include "estimate/size_classes.h"

/* Belongs to the aggregation. */
struct bp_row_parts {
	const struct bp_sums *sums;
	const struct bp_size_classes *classes; /* NULL: all of `sums` is of class 0 */
	uint64_t one_size;		       /* by size: of every object under the key; else 0 */
};

/* Are the rows' figures made of sums alone? Not those of a peak, whose moment was chosen, nor those
 * of other estimators and methods than our own. */
bool bp_aggregation_is_of_sums(const struct bp_aggregation *aggregation);

/* Row `i` < row_count; all that is selected, of the query's metric; all else that was allocated in
 * the window and processes looked at: what the filters left out, and what does not count under the
 * metric. */
struct bp_row_parts bp_aggregation_row_parts(const struct bp_aggregation *aggregation, uint32_t i);
struct bp_row_parts bp_aggregation_total_parts(const struct bp_aggregation *aggregation);
struct bp_row_parts bp_aggregation_outside_parts(const struct bp_aggregation *aggregation);

/* Beside those of bp_aggregation_assumptions. */
struct bp_row_bounds {
	bool parts; /* figures are parts of `offered`, but for usable bytes */
	struct bp_known_total offered, offered_objects; /* allocated, that could be sampled */
	/* No figure is larger; high UINT64_MAX: not known. */
	struct bp_known_total bytes, objects;
	bool lower_bound, upper_bound; /* what losses leave of the figures */
	/* The smallest size that can be among what is selected, and among all else; bytes. */
	struct bp_size_min size_min;
};
struct bp_row_bounds bp_aggregation_row_bounds(const struct bp_aggregation *aggregation);

#endif
