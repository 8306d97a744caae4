/* SPDX-License-Identifier: MIT */
/*
 * For pools, arenas and allocators of a program's own, whose objects malloc never sees. If the
 * program reports these objects by the calls below, the recorder counts and samples them as
 * malloc's objects, with their stacks, as kind `pool`, and under the pool's name in `report --by
 * type`. As in bytepoll/bytepoll.h, every call is a weak symbol: nothing is linked, and without a
 * recorder the calls do nothing.
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
 * bp_uncounted_begin and bp_uncounted_end; memory from mmap is not counted anyway. Without these
 * two calls chunks count as malloc's beside the objects in them (`--filter kind=pool` shows the
 * objects alone).
 *
 * A pool is identified by an address that the program chooses (its struct, its first chunk); NULL
 * is allowed, too. A pool need not be created; bp_pool_create only gives it a name. Objects are
 * identified by their address, in all pools together: no two live objects may have the same
 * address.
 *
 * Cost: an allocation takes 5 instructions and a call, a free about 10 and a call. Thread-safety:
 * any thread may make any call; the calls about one object are made in the order of its events. The
 * recorder that counts every object (`run --verify`) ignores these calls.
 */
#ifndef BYTEPOLL_ANNOTATE_H
#define BYTEPOLL_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives a pool a name, which is the type of its objects from now on; 200 bytes of it are kept.
 * There may be 65,536 pools with a name at a time, and 1000 different names; objects of other pools
 * have no type. */
void bytepoll_pool_create(const void *pool, const char *name) __attribute__((weak));
static inline void bp_pool_create(const void *pool, const char *name)
{
	if (bytepoll_pool_create != NULL)
		bytepoll_pool_create(pool, name);
}

/* An object was allocated. Called after the allocation. */
void bytepoll_pool_alloc(const void *pool, const void *object, size_t size) __attribute__((weak));
static inline void bp_pool_alloc(const void *pool, const void *object, size_t size)
{
	if (bytepoll_pool_alloc != NULL)
		bytepoll_pool_alloc(pool, object, size);
}

/* An object is freed. Called before its memory can be used again. NULL is ignored. */
void bytepoll_pool_free(const void *pool, const void *object) __attribute__((weak));
static inline void bp_pool_free(const void *pool, const void *object)
{
	if (bytepoll_pool_free != NULL)
		bytepoll_pool_free(pool, object);
}

/* An object became one of `size` bytes at `to` (which may be `from`). This counts as a free and an
 * allocation of the whole new size. */
void bytepoll_pool_resize(const void *pool, const void *from, const void *to, size_t size)
	__attribute__((weak));
static inline void bp_pool_resize(const void *pool, const void *from, const void *to, size_t size)
{
	if (bytepoll_pool_resize != NULL)
		bytepoll_pool_resize(pool, from, to, size);
}

/* All objects of a pool are freed at once, except those that begin in [keep, keep + keep_bytes). */
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

/* The pool is destroyed, with its name and its objects. */
void bytepoll_pool_destroy(const void *pool) __attribute__((weak));
static inline void bp_pool_destroy(const void *pool)
{
	if (bytepoll_pool_destroy != NULL)
		bytepoll_pool_destroy(pool);
}

/* The pool is identified by another address from now on. */
void bytepoll_pool_move(const void *from, const void *to) __attribute__((weak));
static inline void bp_pool_move(const void *from, const void *to)
{
	if (bytepoll_pool_move != NULL)
		bytepoll_pool_move(from, to);
}

/* What this thread allocates between the two calls is neither counted nor sampled. Keep the time
 * between them short, and do not nest them: in between, the calls of bytepoll/bytepoll.h and those
 * above do nothing. Frees in between are done; those of samples are recorded later (objects below
 * 64 KiB over glibc) or counted as lost. The token is the program's own memory. */
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
