/* SPDX-License-Identifier: MIT */
/*
 * The live sampled objects that stay in the program's own heap: address to sequence number of the
 * sample. Over glibc those of 64 KiB and more (small ones need no look-up, their slot's book has it:
 * slots.h), over any other malloc all; then the pages they begin in are counted (filter.h).
 * Thread-safe. bp_live_contains takes no lock and may be called by a signal handler.
 */
#ifndef BP_RECORDER_LIVE_SET_H
#define BP_RECORDER_LIVE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_table.h"

/* Most objects held; beyond, objects are not sampled and that is counted. */
#define BP_LIVE_MAX BP_ADDRESS_TABLE_MAX

/* False: full or no memory. */
bool bp_live_insert(const void *object, uint64_t sequence);

/* Is `object` a live sample? Never wrong about an object of the calling thread's own. */
bool bp_live_contains(const void *object);

/* Takes `object` out; 0 if it is not there. */
uint64_t bp_live_remove(const void *object);

/* As bp_live_remove, but gives up (0) rather than wait: for a signal handler. */
uint64_t bp_live_try_remove(const void *object);

/* How many are held, of one moment. */
uint32_t bp_live_count(void);

void bp_live_lock(void);
void bp_live_unlock(void);
void bp_live_after_fork(void);

#endif
