/* SPDX-License-Identifier: MIT */
/*
 * The calls of bytepoll/annotate.h behind the hooks. The hooks call these functions when the charge
 * of a pool's object borrowed, and when a pool's object that may be sampled is freed. Thread-safe;
 * safe in signal handlers as far as malloc is.
 */
#ifndef BP_RECORDER_PROGRAM_POOLS_H
#define BP_RECORDER_PROGRAM_POOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "bytepoll/annotate.h"

/* The charge of a pool's object borrowed. */
BP_COLD void bp_cold_pool(const void *pool, const void *object, size_t size);

/* An object that may be a live sample (bp_pool_set_may_hold) is freed. */
BP_COLD void bp_pools_end(const void *object, bool by_realloc);

/* Does what bp_pool_trim does; with `destroy` what bp_pool_destroy does. */
BP_COLD void bp_pools_trim(const void *pool, const void *keep, size_t keep_bytes, bool destroy);

BP_COLD void bp_pools_name(const void *pool, const char *name);
BP_COLD void bp_pools_move(const void *from, const void *to);
/* Returns the name of a type, terminated; "" for 0. */
BP_COLD const char *bp_pools_type_name(uint32_t type);

/* A visit that stays open while the program's code runs, so that the program's allocations pass
 * through as those of a signal handler do. At its end the thread's two words have their values from
 * before. */
void bp_pools_uncounted_begin(struct bp_uncounted *ret_token);
void bp_pools_uncounted_end(struct bp_uncounted *token);

/* Called around fork. */
void bp_pools_lock(void);
void bp_pools_unlock(void);
void bp_pools_after_fork(void);

#endif
