/* SPDX-License-Identifier: MIT */
/*
 * The calls of bytepoll/annotate.h, and those under which programs tell heaptrack of their pools.
 * What every object pays: the charge, as in malloc, and at its end a look at one word.
 */
#include "bytepoll/annotate.h"

#include "base/attributes.h"
#include "hooks/heaptrack_calls.h"
#include "recognition/hot.h"
#include "recorder/program/pools.h"
#include "tables/pool_set.h"

BP_EXPORT void bytepoll_pool_create(const void *pool, const char *name)
{
	if (name != NULL)
		bp_pools_name(pool, name);
}

BP_EXPORT void bytepoll_pool_alloc(const void *pool, const void *object, size_t size)
{
	if (object != NULL && bp_unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		bp_cold_pool(pool, object, size);
}

BP_EXPORT void bytepoll_pool_free(const void *pool, const void *object)
{
	(void)pool;
	if (bp_unlikely(bp_pool_set_may_hold(object)))
		bp_pools_end(object, false);
}

BP_EXPORT void bytepoll_pool_resize(const void *pool, const void *from, const void *to, size_t size)
{
	if (bp_unlikely(bp_pool_set_may_hold(from)))
		bp_pools_end(from, true);
	bytepoll_pool_alloc(pool, to, size);
}

BP_EXPORT void bytepoll_pool_trim(const void *pool, const void *keep, size_t keep_bytes)
{
	if (bp_unlikely(bp_pool_set_may_have(pool)))
		bp_pools_trim(pool, keep, keep_bytes, false);
}

BP_EXPORT void bytepoll_pool_destroy(const void *pool)
{
	if (bp_unlikely(bp_pool_set_may_have(pool)))
		bp_pools_trim(pool, NULL, 0, true);
}

BP_EXPORT void bytepoll_pool_move(const void *from, const void *to)
{
	if (bp_unlikely(bp_pool_set_may_have(from)))
		bp_pools_move(from, to);
}

BP_EXPORT void bytepoll_uncounted_begin(struct bp_uncounted *ret_token)
{
	bp_pools_uncounted_begin(ret_token);
}

BP_EXPORT void bytepoll_uncounted_end(struct bp_uncounted *token)
{
	bp_pools_uncounted_end(token);
}

BP_EXPORT void heaptrack_malloc(void *object, size_t size)
{
	bytepoll_pool_alloc(NULL, object, size);
}

BP_EXPORT void heaptrack_realloc(void *from, size_t size, void *to)
{
	bytepoll_pool_resize(NULL, from, to, size);
}

BP_EXPORT void heaptrack_free(void *object)
{
	bytepoll_pool_free(NULL, object);
}
