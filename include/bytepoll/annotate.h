/* SPDX-License-Identifier: MIT */
/*
 * For pools, arenas and allocators of a program's own, whose objects malloc never sees: told by these
 * calls, they are counted and sampled by the recorder as if malloc had made them, with their stacks, as
 * kind `pool`, and under the pool's name in `report --by type`. As in bytepoll/bytepoll.h every call is a
 * weak symbol: nothing is linked, and without a recorder nothing happens.
 *
 *	void *arena_alloc(struct arena *arena, size_t size)
 *	{
 *		if (size > arena->left) {
 *			struct bp_uncounted uncounted;
 *			bp_uncounted_begin(&uncounted);
 *			grow(arena);                        // malloc of the next chunk
 *			bp_uncounted_end(&uncounted);
 *		}
 *		void *object = take(arena, size);
 *		bp_pool_alloc(arena, object, size);
 *		return object;
 *	}
 *
 * Nothing is counted twice if the memory that a pool takes from malloc is taken between
 * bp_uncounted_begin and bp_uncounted_end; memory from mmap is not counted anyway. Without these two calls
 * chunks count as malloc's beside the objects in them (`--filter kind=pool` shows the objects alone).
 *
 * A pool is named by an address, whatever the program likes (its struct, its first chunk); NULL is a pool
 * as well. It need not be created: only a name does. Objects are known by their address: two that live at
 * the same time have different ones, whatever their pools.
 *
 * Cost: an allocation 5 instructions and a call, a free about 10 and a call. Thread-safety: any call by any
 * thread; the calls about one object in the order in which things happened to it.
 * The recorder that counts every object (`run --verify`) takes no notice of these calls.
 */
#ifndef BYTEPOLL_ANNOTATE_H
#define BYTEPOLL_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives a pool a name, of which 200 bytes are kept: the type of its objects from now on. The recorder knows
 * 65,536 pools by name at a time, and 1000 different names; objects of others are without. */
void bytepoll_pool_create(const void *pool, const char *name) __attribute__((weak));
static inline void bp_pool_create(const void *pool, const char *name)
{
	if (bytepoll_pool_create != NULL)
		bytepoll_pool_create(pool, name);
}

/* An object was made: after it is there. */
void bytepoll_pool_alloc(const void *pool, const void *object, size_t size) __attribute__((weak));
static inline void bp_pool_alloc(const void *pool, const void *object, size_t size)
{
	if (bytepoll_pool_alloc != NULL)
		bytepoll_pool_alloc(pool, object, size);
}

/* It is given back: before its place can be taken again. NULL is ignored. */
void bytepoll_pool_free(const void *pool, const void *object) __attribute__((weak));
static inline void bp_pool_free(const void *pool, const void *object)
{
	if (bytepoll_pool_free != NULL)
		bytepoll_pool_free(pool, object);
}

/* It became one of `size` bytes, at `to` (which may be `from`): a free and an allocation of the whole new
 * size. */
void bytepoll_pool_resize(const void *pool, const void *from, const void *to, size_t size)
	__attribute__((weak));
static inline void bp_pool_resize(const void *pool, const void *from, const void *to, size_t size)
{
	if (bytepoll_pool_resize != NULL)
		bytepoll_pool_resize(pool, from, to, size);
}

/* All its objects are given back at once, but for those that begin in [keep, keep + keep_bytes). */
void bytepoll_pool_trim(const void *pool, const void *keep, size_t keep_bytes)
	__attribute__((weak));
static inline void bp_pool_trim(const void *pool, const void *keep, size_t keep_bytes)
{
	if (bytepoll_pool_trim != NULL)
		bytepoll_pool_trim(pool, keep, keep_bytes);
}

static inline void bp_pool_clear(const void *pool)
{
	bp_pool_trim(pool, NULL, 0);
}

/* The pool is gone, its name too, and its objects. */
void bytepoll_pool_destroy(const void *pool) __attribute__((weak));
static inline void bp_pool_destroy(const void *pool)
{
	if (bytepoll_pool_destroy != NULL)
		bytepoll_pool_destroy(pool);
}

/* The pool goes by another address from now on. */
void bytepoll_pool_move(const void *from, const void *to) __attribute__((weak));
static inline void bp_pool_move(const void *from, const void *to)
{
	if (bytepoll_pool_move != NULL)
		bytepoll_pool_move(from, to);
}

/* What this thread allocates between the two calls is not the program's business: neither counted nor
 * sampled. Keep it short, and one such stretch at a time: calls in it to bytepoll/bytepoll.h and to those
 * above do nothing. Frees in it are done, and those of samples recorded late (below 64 KiB over glibc) or
 * counted as lost. The token is the program's own memory. */
struct bp_uncounted {
	uint64_t private_words[4];
};

void bytepoll_uncounted_begin(struct bp_uncounted *ret_token) __attribute__((weak));
static inline void bp_uncounted_begin(struct bp_uncounted *ret_token)
{
	ret_token->private_words[0] = 0;
	if (bytepoll_uncounted_begin != NULL)
		bytepoll_uncounted_begin(ret_token);
}

void bytepoll_uncounted_end(struct bp_uncounted *token) __attribute__((weak));
static inline void bp_uncounted_end(struct bp_uncounted *token)
{
	if (token->private_words[0] != 0 && bytepoll_uncounted_end != NULL)
		bytepoll_uncounted_end(token);
}

#ifdef __cplusplus
}
#endif

#endif
