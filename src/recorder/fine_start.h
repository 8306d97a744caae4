/* SPDX-License-Identifier: MIT */
/*
 * The fine start: the sampling interval T of a process that was given none. T begins fine and becomes
 * BP_INTERVAL_DEFAULT in steps, by what the process has been counted to allocate and by nothing else: no
 * clock, no sample. So a short program has some thousand samples, a long one costs what it does at the
 * default, and a seed repeats as with a fixed T.
 *
 * Each thread adds what it has made since it last came to the recorder to a sum of the process, and takes
 * up the T that belongs to the sum (control.c). A thread comes after each of its samples, and after 1 MiB
 * at the latest, so that the steps of a process with many threads are taken that much later. The sum is
 * of trials: bytes, and one for each object.
 *
 * All children of fork, and theirs, share the sum with their parent: a server that forks for each connection does not
 * begin anew each time, and comes to its last step by what all of them allocate. A new image begins anew. Thread-safe.
 */
#ifndef BP_RECORDER_FINE_START_H
#define BP_RECORDER_FINE_START_H

#include <stdbool.h>
#include <stdint.h>

/* T after so many trials. Pure. */
uint64_t bp_fine_start_interval(uint64_t trials);

/* Before the first thread of an image: from here on the sum is shared with children. */
void bp_fine_start_begin(void);

/* Adds trials to the sum; T after that. */
uint64_t bp_fine_start_add(uint64_t trials);

#endif
