/* SPDX-License-Identifier: MIT */
/*
 * Choosing the ticks of a folded part's clock (docs/trace-format.md 5.2); private to fold/. The
 * curves of live bytes, the whole one, those of the two halves, its upper limit and what of it is
 * certain (docs/statistics.md, "Peak"), are walked once for each resolution that is tried.
 */
#ifndef BP_FOLD_TICKS_H
#define BP_FOLD_TICKS_H

#include "fold/gather.h"

#define BP_FOLD_WEIGHTS 3 /* the whole, half 0, half 1 */
#define BP_FOLD_CURVES 5  /* those, the upper limit, what was sampled */

/* A birth or a death. The walk is in the order of (time, sequence); the tick of an event is where
 * it is told to have happened so far. */
struct bp_fold_event {
	uint64_t time_ns, sequence;
	struct bp_trace_tick tick;
	double weights[BP_FOLD_WEIGHTS];
	double sampled, size; /* bytes that were sampled, of objects of this size */
};

struct bp_fold_curve {
	struct bp_fold_event *births, *deaths;
	uint32_t birth_count, death_count;
	uint64_t interval_max; /* the largest T of a sample, at least 1 */
};

/* The draw of an item's halves, by its own sequence and time: bits as in struct
 * bp_trace_folded_entry. */
uint8_t bp_fold_halves(const struct bp_trace_sample *sample, uint32_t charge);

/* Makes the events of all that was gathered. */
bool bp_fold_curve_make(
	struct bp_fold_curve *curve, const struct bp_gathered *gathered, struct bp_error *error);
void bp_fold_curve_finish(struct bp_fold_curve *curve);

/* The ticks up to `until_ns`, which is the last one: in each stretch of `resolution_ns` since
 * `start_ns` the moments at which the curves are largest, and its last event. The clock must be
 * empty. */
bool bp_fold_choose_ticks(const struct bp_fold_curve *curve, uint64_t start_ns, uint64_t until_ns,
	uint64_t resolution_ns, struct bp_trace_clock *clock, struct bp_error *error);

#endif
