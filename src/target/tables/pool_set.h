/* SPDX-License-Identifier: MIT */
/*
 * The live samples of annotated pools (bytepoll/annotate.h): a table from addresses to the numbers
 * of the samples, and a list of the samples of each pool, because a pool is given back as a whole.
 * They are not in live_set.h, because a pool's first object may begin where a sampled chunk of
 * malloc begins.
 *
 * The set is bounded. Thread-safe; not in signal handlers, except the first two functions. The
 * caller gives numbers to types.
 */
#ifndef BP_TABLES_POOL_SET_H
#define BP_TABLES_POOL_SET_H

#include <stdbool.h>
#include <stdint.h>

/* The most live samples, and the most pools that have a live sample or a name. */
#define BP_POOL_SAMPLES_MAX ((uint32_t)1 << 20)
#define BP_POOLS_MAX ((uint32_t)1 << 16)

/* May `object` be a live sample? Reads one word. False is certain for objects of the calling
 * thread. */
bool bp_pool_set_may_hold(const void *object);

/* May the pool have a live sample or a name? False is as certain. */
bool bp_pool_set_may_have(const void *pool);

/* Inserts a live sample of that pool, and returns the pool's type in `ret_type` (0: none). An old
 * sample of the same address is removed; `ret_replaced` is its number, or 0. False: the set is
 * full, or there is no memory; only the old sample was removed. */
bool bp_pool_set_insert(const void *pool, const void *object, uint64_t sequence, uint32_t *ret_type,
	uint64_t *ret_replaced);

/* Removes a live sample and returns its number; 0: `object` is no live sample. */
uint64_t bp_pool_set_remove(const void *object);

struct bp_pool_sample {
	uint64_t address, sequence;
};

/* Removes up to `room` live samples of a pool, except those that begin in [keep, keep +
 * keep_bytes), and returns how many it has removed. `take_name`: removes the pool's name, too. */
uint32_t bp_pool_set_take(const void *pool, const void *keep, uint64_t keep_bytes, bool take_name,
	struct bp_pool_sample *ret_samples, uint32_t room);

/* Sets the type of the pool's objects. False: there is no room. */
bool bp_pool_set_name(const void *pool, uint32_t type);

/* Gives the pool another address. If there is a pool at that address already, the two become
 * one. */
void bp_pool_set_move(const void *from, const void *to);

/* Called around fork. */
void bp_pool_set_lock(void);
void bp_pool_set_unlock(void);
void bp_pool_set_after_fork(void);

#endif
