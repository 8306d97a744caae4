/* SPDX-License-Identifier: MIT */
/*
 * The live samples of annotated pools (bytepoll/annotate.h): address to number of the sample, and the
 * samples of each pool in a list, because a pool is given back as a whole. They are apart from live_set.h:
 * a pool's first object may begin where the chunk does that malloc knows.
 *
 * Bounded. Thread-safe; not in signal handlers, except the first two. Numbers of types are the
 * caller's business.
 */
#ifndef BP_RECORDER_POOL_SET_H
#define BP_RECORDER_POOL_SET_H

#include <stdbool.h>
#include <stdint.h>

/* Most live samples, and most pools that have one or a name. */
#define BP_POOL_SAMPLES_MAX ((uint32_t)1 << 20)
#define BP_POOLS_MAX ((uint32_t)1 << 16)

/* May `object` be a live sample? Reads one word; "no" is certain for objects of the calling thread. */
bool bp_pool_set_may_hold(const void *object);

/* May the pool have a live sample or a name? As certain. */
bool bp_pool_set_may_have(const void *pool);

/* Enters a live sample of that pool; its type in `ret_type`, 0: none. An old sample of the same address
 * leaves: its number in `ret_buried`, else 0. False: full or no memory; nothing but that changed. */
bool bp_pool_set_insert(const void *pool, const void *object, uint64_t sequence, uint32_t *ret_type,
	uint64_t *ret_buried);

/* Takes a live sample out; 0 if it is none. */
uint64_t bp_pool_set_remove(const void *object);

struct bp_pool_sample {
	uint64_t address, sequence;
};

/* Takes up to `room` live samples out of a pool that do not begin in [keep, keep + keep_bytes), and returns
 * how many. `take_name`: the pool has no name any more either. */
uint32_t bp_pool_set_take(const void *pool, const void *keep, uint64_t keep_bytes, bool take_name,
	struct bp_pool_sample *ret_samples, uint32_t room);

/* The type of the pool's objects from now on. False: no room. */
bool bp_pool_set_name(const void *pool, uint32_t type);

/* The pool goes by another address, and what that one had is its own, too. */
void bp_pool_set_move(const void *from, const void *to);

void bp_pool_set_lock(void);
void bp_pool_set_unlock(void);
void bp_pool_set_after_fork(void);

#endif
