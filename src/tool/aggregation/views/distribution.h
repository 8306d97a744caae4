/* SPDX-License-Identifier: MIT */
/*
 * How what was allocated is distributed: over sizes, over lifetimes, over time. Every figure is an
 * estimate with its interval, made from sums as the rows of an aggregation are; raw counts of
 * samples would show the large objects of a program and hide the small ones.
 *
 * Lifetimes are known of objects whose free was seen. Those that still lived when their process
 * ended have reached an age, and would have gone on living: they are right-censored, and
 * counted apart.
 *
 * Called by report/stats.c. Pure but for memory. Thread-safety: as an aggregation.
 */
#ifndef BP_AGGREGATION_VIEWS_DISTRIBUTION_H
#define BP_AGGREGATION_VIEWS_DISTRIBUTION_H

#include "aggregation/aggregate.h"

#define BP_SIZE_RANGES 65 /* of size 0, and from 2^i to 2^(i+1) - 1 */
#define BP_AGE_RANGES 10  /* below 10 us, then by powers of ten, 1000 s and more */

/* Figures of a set of samples. */
struct bp_amount {
	uint64_t samples;
	struct bp_figure bytes, objects;
};

struct bp_size_range {
	uint64_t low, high; /* bytes, both included */
	struct bp_amount allocated, live;
};

struct bp_age_range {
	uint64_t low_ns, high_ns;  /* [low, high); the last: BP_TIME_NEVER */
	struct bp_amount freed;	   /* lived so long */
	struct bp_amount censored; /* had so lived when their process ended, and lived on */
};

struct bp_time_range {
	uint64_t low_ns, high_ns; /* since the start */
	struct bp_amount allocated;
};

struct bp_distribution {
	struct bp_size_range sizes[BP_SIZE_RANGES];
	struct bp_age_range ages[BP_AGE_RANGES];
	struct bp_amount freed, censored; /* all of them */
	struct bp_time_range *times;	  /* `time_count` equal parts of the run or the window */
	uint32_t time_count;
	bool ages_known, times_known; /* false: the file does not tell */
	uint64_t age_resolution_ns; /* of folded traces: lifetimes may be off by so much; else 0 */
	struct bp_figure unseen;    /* bytes that a range without a sample may hold */
};

/* `aggregation` says which processes, window, filters and moment; its metric must be allocated.
 * `times` >= 1: how many parts. */
bool bp_distribution_make(const struct bp_aggregation *aggregation, uint32_t times,
	struct bp_distribution *ret_distribution, struct bp_error *error);
/* By how much lifetimes may be off, either way, because the trace was folded; ns, 0: as
 * recorded. */
uint64_t bp_age_resolution_ns(const struct bp_aggregation *aggregation);

void bp_distribution_finish(struct bp_distribution *distribution);

#endif
