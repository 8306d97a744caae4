/* SPDX-License-Identifier: MIT */
/*
 * From the scaled figures of a bucket of a pprof heap profile back to how many samples it holds.
 * Called by pprof.c. Pure, thread-safe.
 */
#ifndef BP_IMPORT_PPROF_PPROF_COUNT_H
#define BP_IMPORT_PPROF_PPROF_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* `objects` and `bytes`: the figures of a bucket, of which every object has `size` >= 1 bytes;
 * `interval` >= 1: the mean sampling interval T, bytes, with which they were scaled. False: no
 * whole number of samples gives them, or more than one does. 0 samples where both are 0. */
bool bp_pprof_count(
	uint64_t objects, uint64_t bytes, uint64_t size, uint64_t interval, uint64_t *ret_samples);

#endif
