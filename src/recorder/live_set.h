/* SPDX-License-Identifier: MIT */
/*
 * The live sampled objects that stay in glibc's heap (64 KiB and more): address to sequence number
 * of the sample. Small ones need no look-up, their slot's book has it (slots.h).
 * Thread-safe. bp_live_contains takes no lock and may be called by a signal handler.
 */
#ifndef BP_RECORDER_LIVE_SET_H
#define BP_RECORDER_LIVE_SET_H

#include <stdbool.h>
#include <stdint.h>

/* Most objects held; beyond, large objects are not sampled and that is counted. */
#define BP_LIVE_MAX ((uint32_t)1 << 20)

/* False: full or no memory. */
bool bp_live_insert(const void *object, uint64_t sequence);

/* Is `object` a live sample? Never wrong about an object of the calling thread's own. */
bool bp_live_contains(const void *object);

/* Takes `object` out; 0 if it is not there. */
uint64_t bp_live_remove(const void *object);

/* As bp_live_remove, but gives up (0) rather than wait: for a signal handler. */
uint64_t bp_live_try_remove(const void *object);

void bp_live_lock(void);
void bp_live_unlock(void);
void bp_live_after_fork(void);

#endif
