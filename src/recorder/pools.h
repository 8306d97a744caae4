/* SPDX-License-Identifier: MIT */
/*
 * The calls of bytepoll/annotate.h behind the hooks: what a charge that borrowed, and what the free of a
 * sampled object, of an annotated pool lead to. Thread-safe; safe in signal handlers as malloc is.
 */
#ifndef BP_RECORDER_POOLS_H
#define BP_RECORDER_POOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "bytepoll/annotate.h"

/* The charge of an object borrowed. */
BP_COLD void bp_cold_pool(const void *pool, const void *object, size_t size);

/* The object may be a live sample (bp_pool_set_may_hold), and goes. */
BP_COLD void bp_pools_end(const void *object, bool by_realloc);

/* As bp_pool_trim, and bp_pool_destroy with `destroy`. */
BP_COLD void bp_pools_trim(const void *pool, const void *keep, size_t keep_bytes, bool destroy);

BP_COLD void bp_pools_name(const void *pool, const char *name);
BP_COLD void bp_pools_move(const void *from, const void *to);
/* The name that is the type of a pool's objects in the trace, terminated; "" for 0. */
BP_COLD const char *bp_pools_type_name(uint32_t type);

/* A visit that stays open while the program's code runs, so that its allocations pass through as those of
 * a signal handler do; at its end the thread's two words are as they were. */
void bp_pools_uncounted_begin(struct bp_uncounted *ret_token);
void bp_pools_uncounted_end(struct bp_uncounted *token);

/* Around fork. */
void bp_pools_lock(void);
void bp_pools_unlock(void);
void bp_pools_after_fork(void);

#endif
