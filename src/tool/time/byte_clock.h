/* SPDX-License-Identifier: MIT */
/*
 * A process's clock of bytes: how much all of its threads had allocated by some moment, while
 * sampling was on. A thread's counters are known at its records, and in between only that they
 * grow, so that the clock gives limits (docs/statistics.md, "Lifetimes in bytes"). In a process
 * with one thread they are equal wherever the thread left a record.
 *
 * Called by aggregation/views/lifetimes.c. Pure but for memory. Thread-safety: reading is safe from
 * several threads.
 */
#ifndef BP_TIME_BYTE_CLOCK_H
#define BP_TIME_BYTE_CLOCK_H

#include "base/error.h"
#include "query/view.h"

struct bp_byte_step; /* private */

/* Zeroed memory is the clock of a process that allocated nothing. */
struct bp_byte_clock {
	struct bp_byte_step *low, *high; /* private: at what times each limit grows, and to what */
	uint32_t low_count, low_capacity, high_count, high_capacity;
	uint64_t high_first;	     /* the upper limit before the first of them */
	uint64_t unknown;	     /* by threads that are not known, at any time */
	struct bp_known_total total; /* from the end of the process on */
	uint64_t start_ns, end_ns;
};

/* A clock for each process of the view's profile, by its id; those that are not included stay
 * empty. The profile must have kept its readings. Errors: memory. */
struct bp_byte_clock *bp_byte_clocks_make(const struct bp_view *view, struct bp_error *error);
void bp_byte_clocks_finish(struct bp_byte_clock *clocks, const struct bp_view *view);

/* What was allocated after one moment and by another, CLOCK_MONOTONIC in ns, from_ns <= to_ns.
 * Times, those of the records too, may be late by as much as slack_ns, as in a folded trace. `high`
 * is UINT64_MAX where there is no upper limit. */
struct bp_known_total bp_byte_clock_between(
	const struct bp_byte_clock *clock, uint64_t from_ns, uint64_t to_ns, uint64_t slack_ns);

#endif
