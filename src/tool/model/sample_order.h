/* SPDX-License-Identifier: MIT */
/*
 * Moments, and putting what happens in their order: (time, process, sequence). Traces are written
 * by several lanes at once, each in order, so that a file is a shuffle of long ascending runs: runs
 * are found and merged, which is linear for a file in order. Called by timeline.c; samples
 * themselves are sorted by sample_runs.h.
 */
#ifndef BP_MODEL_SAMPLE_ORDER_H
#define BP_MODEL_SAMPLE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* A moment in the common life of all processes: `sequence` orders what happens in one process at
 * one time. Comparing is lexicographic. */
struct bp_moment {
	uint64_t time_ns;
	uint64_t sequence;
	uint32_t process;
};

/* A moment and what happens then. */
struct bp_moment_entry {
	struct bp_moment moment;
	uint32_t what; /* the caller's */
};

static inline bool bp_moment_before(const struct bp_moment *a, const struct bp_moment *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->process != b->process)
		return a->process < b->process;
	return a->sequence < b->sequence;
}

/* Sorts entries, stable; false: no memory for a second array of them. */
bool bp_sort_moments(struct bp_moment_entry *entries, uint32_t count);

#endif
