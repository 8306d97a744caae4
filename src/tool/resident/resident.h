/* SPDX-License-Identifier: MIT */
/*
 * Resident memory of the first process of a run, as the kernel counted it while `bytepoll run`
 * looked on, and what of it the estimate of live objects explains. The estimate is of bytes that a
 * program asked for; the kernel counts pages that were touched. What lies between the two (slack
 * and free memory of the allocator, memory that was mapped without malloc, and on the other side
 * live objects that were never written) is told as one interval, by difference: nobody can part it
 * from outside.
 *
 * Filled by resident/resident_file.h, read by report/. Pure but for memory. Thread-safety: reading
 * only.
 */
#ifndef BP_RESIDENT_RESIDENT_H
#define BP_RESIDENT_RESIDENT_H

#include "aggregation/aggregate.h"

/* One look, in bytes. */
struct bp_resident_point {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t anonymous; /* heap, stacks, anonymous mappings: RssAnon */
	uint64_t file;	    /* pages of files, the trace's own among them: RssFile */
	uint64_t shared;    /* shared memory, tmpfs: RssShmem */
	uint64_t swapped;   /* VmSwap */
	uint64_t stack;	    /* size of the main stack, resident or not: VmStk */
	uint64_t high;	    /* the most that this image had so far: VmHWM */
};

/* Zeroed memory is the empty table: nothing is known. */
struct bp_resident {
	struct bp_resident_point *points; /* times ascend */
	uint32_t count;
	uint32_t pid;
	uint64_t period_ns; /* between points; the first ones stand closer */
	/* the kernel sums its counters lazily: each kind may be off by that */
	uint64_t uncertain_bytes;
	uint64_t end_ns; /* when the process ended, CLOCK_MONOTONIC; 0: not known */
	/* ru_maxrss: of the process or of a child that it waited for; 0: not known */
	uint64_t most_bytes;
};

void bp_resident_finish(struct bp_resident *resident);

/* Appends a point of a later time than the last. `points` has room for `capacity` >= 2; when it is
 * full every second one goes and the period doubles. */
void bp_resident_add(
	struct bp_resident *resident, const struct bp_resident_point *point, uint32_t capacity);

/* Resident in all at a point. */
uint64_t bp_resident_sum(const struct bp_resident_point *point);

/* Resident in all at the looks before and after a moment (CLOCK_MONOTONIC), the smaller and the
 * larger one; where the kernel's high-water mark rose between them, or behind the last look, that.
 * False: none is within two periods. */
bool bp_resident_around(
	const struct bp_resident *resident, uint64_t time_ns, struct bp_known_total *ret_around);

/* The point of the largest sum; NULL without any. */
const struct bp_resident_point *bp_resident_highest(const struct bp_resident *resident);

/* The most that the process ever had resident: `low` was seen, it was at most `high` (equal where
 * the process had no children that might have been larger). False: nothing is known. */
bool bp_resident_peak(const struct bp_resident *resident, const struct bp_profile *profile,
	struct bp_known_total *ret_peak);

/* What of a process the kernel counts can have a limit. */
enum bp_resident_metric {
	BP_RESIDENT_NONE,
	BP_RESIDENT_LAST, /* in all, at the last look */
	BP_RESIDENT_MOST, /* in all, the most ever */
	BP_RESIDENT_SWAP, /* swapped out, at the last look */
	/* live objects that are not resident, an estimate (residency.h): no figure of the kernel */
	BP_RESIDENT_ABSENT,
	/* what the program mapped itself, at the end and at most, by its calls */
	BP_RESIDENT_MAPPED,
	BP_RESIDENT_MAPPED_MOST,
	BP_RESIDENT_METRICS
};
extern const char *const bp_resident_metric_names[BP_RESIDENT_METRICS]; /* "", "resident" ... */

/* A figure of the watched process, within what the kernel's counters may be off. False: nothing is
 * known. */
bool bp_resident_figure(enum bp_resident_metric metric, const struct bp_resident *resident,
	const struct bp_profile *profile, struct bp_known_total *ret_figure);

/* Are there other processes in the profile than the one that was watched? */
bool bp_resident_is_of_one(const struct bp_resident *resident, const struct bp_profile *profile);

/* One moment, taken apart. Bytes. */
struct bp_reconciled {
	struct bp_resident_point point;
	uint64_t time_ns;	/* since the start of the process */
	struct bp_figure live;	/* of this process alone, at this moment */
	uint64_t recorder_most; /* of anonymous: memory of the recorder, at most */
	uint64_t stack_most;	/* of anonymous: the main stack, at most */
	/* Anonymous less all of this: slack and free memory of the allocator, other stacks, memory
	 * mapped without malloc; less live objects that are not resident. Negative: so much of the
	 * live objects, at least, was never written or is swapped out. Limits alone (`unknown`). */
	struct bp_interval rest;
};

enum bp_reconciled_moment { BP_RECONCILED_HIGHEST, BP_RECONCILED_LAST, BP_RECONCILED_COUNT };

/* Takes apart the point of the highest resident memory and the last one. False without error text:
 * nothing to take apart (no points, another kind of file, the process is not looked at). The
 * aggregation may be of any metric; filters and windows of it are not looked at. */
bool bp_reconcile(const struct bp_aggregation *aggregation, const struct bp_resident *resident,
	struct bp_reconciled ret_moments[BP_RECONCILED_COUNT]);

#endif
