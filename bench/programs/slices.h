/* SPDX-License-Identifier: MIT */
/*
 * Timing by slices: a run is cut into slices of consecutive operations, each slice gives the mean
 * CPU time of one operation, and the run reports the 5th percentile of the slices: what an
 * operation costs while nobody disturbs it. Prints one line of JSON.
 */
#ifndef BENCH_SLICES_H
#define BENCH_SLICES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLICES_MAX 65536

struct slices {
	uint32_t count;
	double ns_each[SLICES_MAX];
};

/* CPU time of this thread, ns. */
static inline uint64_t thread_time_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void slices_add(struct slices *slices, uint64_t elapsed_ns, uint64_t operations)
{
	if (slices->count < SLICES_MAX)
		slices->ns_each[slices->count++] = (double)elapsed_ns / (double)operations;
}

static inline int slices_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return left < right ? -1 : left > right;
}

/* The value below which `part` of the slices lie; 0 without slices. Sorts. */
static inline double slices_quantile(struct slices *slices, double part)
{
	if (slices->count == 0)
		return 0;
	qsort(slices->ns_each, slices->count, sizeof slices->ns_each[0], slices_compare);
	return slices->ns_each[(uint32_t)(part * (slices->count - 1))];
}

#endif
