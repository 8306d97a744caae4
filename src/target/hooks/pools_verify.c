/* SPDX-License-Identifier: MIT */
/*
 * Annotated pools in the recorder that verifies: nothing. Its exact sums know the objects of
 * malloc, by addresses that those of pools share, and its totals are the exact ones.
 */
#include "bytepoll/annotate.h"

#include "base/attributes.h"
#include "hooks/heaptrack_calls.h"

BP_EXPORT void bytepoll_pool_create(const void *pool, const char *name)
{
	(void)pool, (void)name;
}

BP_EXPORT void bytepoll_pool_alloc(const void *pool, const void *object, size_t size)
{
	(void)pool, (void)object, (void)size;
}

BP_EXPORT void bytepoll_pool_free(const void *pool, const void *object)
{
	(void)pool, (void)object;
}

BP_EXPORT void bytepoll_pool_resize(const void *pool, const void *from, const void *to, size_t size)
{
	(void)pool, (void)from, (void)to, (void)size;
}

BP_EXPORT void bytepoll_pool_trim(const void *pool, const void *keep, size_t keep_bytes)
{
	(void)pool, (void)keep, (void)keep_bytes;
}

BP_EXPORT void bytepoll_pool_destroy(const void *pool)
{
	(void)pool;
}

BP_EXPORT void bytepoll_pool_move(const void *from, const void *to)
{
	(void)from, (void)to;
}

BP_EXPORT void bytepoll_uncounted_begin(struct bp_uncounted *ret_token)
{
	ret_token->private_words[0] = 0;
}

BP_EXPORT void bytepoll_uncounted_end(struct bp_uncounted *token)
{
	(void)token;
}

BP_EXPORT void heaptrack_malloc(void *object, size_t size)
{
	(void)object, (void)size;
}

BP_EXPORT void heaptrack_realloc(void *from, size_t size, void *to)
{
	(void)from, (void)size, (void)to;
}

BP_EXPORT void heaptrack_free(void *object)
{
	(void)object;
}
