/* SPDX-License-Identifier: MIT */
/*
 * A profile as other tools want it: a list of stacks as recorded, each with what it stands for in
 * several metrics at once. Rows of a report join what reads alike; here places in code are kept
 * apart, and, if asked for, threads and sizes too. The figures are the report's all the same: what
 * a row's samples weigh is scaled so that the entries of a row add up to its estimate.
 *
 * Called by export/. Entries stand in the order of their first sample in time.
 */
#ifndef BP_AGGREGATION_VIEWS_ENTRIES_H
#define BP_AGGREGATION_VIEWS_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/aggregate.h"
#include "base/error.h"

#define BP_ENTRY_METRICS 3 /* no format asks for more at a time */

/* Estimates of one entry in one metric. The variances are Horvitz-Thompson's, which add up over
 * entries; where the report calibrates by a counted total they are more than the error is. */
struct bp_entry_figures {
	double bytes, objects;
	double bytes_variance, objects_variance; /* bytes^2, objects^2 */
	uint64_t samples;
};

struct bp_entry {
	struct bp_stack_id stack;   /* 0: none was recorded */
	struct bp_thread_id thread; /* 0 unless asked for */
	uint64_t size;		    /* requested, bytes; 0 unless asked for */
	double lifetime_ns;	    /* of all objects of the first aggregation's metric, summed */
	struct bp_entry_figures metrics[BP_ENTRY_METRICS];
};

struct bp_entries {
	struct bp_entry *items;
	uint32_t count, capacity;
};

struct bp_entry_options {
	bool by_thread, by_size;
};

/* `aggregations`: up to BP_ENTRY_METRICS of one profile, all by stack, with the same processes and
 * filters; the figures of number i stand in metrics[i], zero where it is NULL. */
bool bp_entries_build(const struct bp_aggregation *const *aggregations, unsigned count,
	struct bp_entry_options options, struct bp_entries *ret_entries, struct bp_error *error);
void bp_entries_finish(struct bp_entries *entries);

/* The frames of a stack, innermost first; `aggregation` is one by stack. */
const struct bp_frame_id *bp_entry_frames(
	const struct bp_aggregation *aggregation, struct bp_stack_id stack, uint32_t *ret_count);

/* An object that a metric counts, with its weight: for formats that tell of times. */
struct bp_weighted_sample {
	const struct bp_sample *sample;
	double bytes, objects;
	uint64_t birth_ns, death_ns; /* since the start; death: BP_TIME_NEVER if it lived on */
};

/* Calls `take` for every sample that the metric of `aggregation` counts, in the order of time.
 * With `whole` for every one that was ever allocated, whatever the metric. False as soon as
 * `take` is. */
bool bp_each_weighted_sample(const struct bp_aggregation *aggregation, bool whole,
	bool (*take)(void *context, const struct bp_weighted_sample *sample), void *context);

/* Whole numbers in the place of estimates, one after the other: what was rounded off one is passed
 * on to the next, so that any run of them adds up to within one of the estimates' sum. Zeroed is
 * the start. */
struct bp_rounding {
	double exact;
	int64_t given;
};
int64_t bp_round_next(struct bp_rounding *rounding, double value);

#endif
