/* SPDX-License-Identifier: MIT */
/*
 * Which part of what a program mapped itself holds objects of its malloc: arenas. What was mapped
 * and what was malloc'ed may be added only without them (docs/mapped.md, "The sum"). Called by
 * report/all.c. Pure but for memory. Thread-safety: as an aggregation.
 */
#ifndef BP_AGGREGATION_VIEWS_ARENAS_H
#define BP_AGGREGATION_VIEWS_ARENAS_H

#include "aggregation/aggregate.h"

struct bp_arena_sums {
	double bytes, objects; /* exact */
};

/* The arenas in each row of an aggregation of what was mapped (profile->mapped), by the number of
 * the row, and behind them in all that is selected: row_count + 1 entries, the caller's to free. A
 * range is an arena if the function that mapped it lies in the file of the malloc of its process;
 * and, where the small objects of Python are sampled, if it is anonymous, has the size of Python's
 * arenas, and was mapped by the interpreter's file. False: no memory. */
bool bp_arenas_of_rows(const struct bp_aggregation *aggregation, struct bp_arena_sums **ret_sums);

/* What a key of which nothing was sampled may hold, by the metric of the aggregation. */
void bp_row_without_samples(const struct bp_aggregation *aggregation, struct bp_row *ret_row);

#endif
