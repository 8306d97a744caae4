/* SPDX-License-Identifier: MIT */
/*
 * The fine start: the sampling interval T of a process without a given interval. T begins fine and
 * becomes BP_INTERVAL_DEFAULT in steps. The steps depend on the counted allocations of the process
 * and on nothing else: on no clock, and on no sample. So a short program has some thousand samples,
 * a long one costs what it costs at the default, and a run with the same seed gives the same
 * samples, as with a fixed T.
 *
 * Each thread adds what it has made since it last came to the recorder to a sum of the process, and
 * takes up the T that belongs to the sum (control.c). A thread comes to the recorder with each of
 * its samples, and after 1 MiB at the latest; so each thread of a process may take a step that much
 * later. The sum is of trials: bytes, and one for each object.
 *
 * All children of fork, and their children, share the sum with their parent: a server that forks
 * for each connection does not begin anew each time, and reaches its last step by what all of them
 * allocate. A new image begins anew. Thread-safe.
 */
#ifndef BP_START_FINE_START_H
#define BP_START_FINE_START_H

#include <stdbool.h>
#include <stdint.h>

/* Returns T after so many trials. Pure. */
uint64_t bp_fine_start_interval(uint64_t trials);

/* Called before the first thread of an image begins. From then on the sum is shared with
 * children. */
void bp_fine_start_begin(void);

/* Adds trials to the sum, and returns T after that. */
uint64_t bp_fine_start_add(uint64_t trials);

#endif
