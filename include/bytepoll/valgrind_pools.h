/* SPDX-License-Identifier: MIT */
/*
 * For code that tells Valgrind of its pools: with this header in the place of valgrind/valgrind.h
 * and valgrind/memcheck.h the same macros tell bytepoll (bytepoll/annotate.h). Included after them,
 * it takes the macros over, and Valgrind hears nothing.
 *
 *	VALGRIND_CREATE_MEMPOOL(_EXT), _DESTROY_MEMPOOL, _MEMPOOL_ALLOC, _MEMPOOL_FREE, _MEMPOOL_TRIM,
 *	_MOVE_MEMPOOL, _MEMPOOL_CHANGE, _MEMPOOL_EXISTS
 *	VALGRIND_MALLOCLIKE_BLOCK, _FREELIKE_BLOCK, _RESIZEINPLACE_BLOCK (as of a pool NULL)
 *
 * What these say of red zones and of zeroed memory is not looked at. Valgrind has no word for the
 * memory a pool takes: see bp_uncounted_begin. Macros that have nothing to do with allocation
 * (accessibility of memory, errors) become nothing.
 */
#ifndef BYTEPOLL_VALGRIND_POOLS_H
#define BYTEPOLL_VALGRIND_POOLS_H

#include "bytepoll/annotate.h"

#undef VALGRIND_CREATE_MEMPOOL
#undef VALGRIND_CREATE_MEMPOOL_EXT
#undef VALGRIND_DESTROY_MEMPOOL
#undef VALGRIND_MEMPOOL_ALLOC
#undef VALGRIND_MEMPOOL_FREE
#undef VALGRIND_MEMPOOL_TRIM
#undef VALGRIND_MOVE_MEMPOOL
#undef VALGRIND_MEMPOOL_CHANGE
#undef VALGRIND_MEMPOOL_EXISTS
#undef VALGRIND_MALLOCLIKE_BLOCK
#undef VALGRIND_FREELIKE_BLOCK
#undef VALGRIND_RESIZEINPLACE_BLOCK
#undef VALGRIND_MAKE_MEM_NOACCESS
#undef VALGRIND_MAKE_MEM_UNDEFINED
#undef VALGRIND_MAKE_MEM_DEFINED
#undef VALGRIND_DISABLE_ERROR_REPORTING
#undef VALGRIND_ENABLE_ERROR_REPORTING
#undef RUNNING_ON_VALGRIND

#define VALGRIND_CREATE_MEMPOOL(pool, red_zone, zeroed) ((void)(pool))
#define VALGRIND_CREATE_MEMPOOL_EXT(pool, red_zone, zeroed, flags) ((void)(pool))
#define VALGRIND_DESTROY_MEMPOOL(pool) bp_pool_destroy((const void *)(pool))
#define VALGRIND_MEMPOOL_ALLOC(pool, object, size) \
	bp_pool_alloc((const void *)(pool), (const void *)(object), (size))
#define VALGRIND_MEMPOOL_FREE(pool, object) \
	bp_pool_free((const void *)(pool), (const void *)(object))
#define VALGRIND_MEMPOOL_TRIM(pool, memory, size) \
	bp_pool_trim((const void *)(pool), (const void *)(memory), (size))
#define VALGRIND_MOVE_MEMPOOL(from, to) bp_pool_move((const void *)(from), (const void *)(to))
#define VALGRIND_MEMPOOL_CHANGE(pool, from, to, size) \
	bp_pool_resize((const void *)(pool), (const void *)(from), (const void *)(to), (size))
#define VALGRIND_MEMPOOL_EXISTS(pool) ((void)(pool), 1)
#define VALGRIND_MALLOCLIKE_BLOCK(object, size, red_zone, zeroed) \
	bp_pool_alloc(NULL, (const void *)(object), (size))
#define VALGRIND_FREELIKE_BLOCK(object, red_zone) bp_pool_free(NULL, (const void *)(object))
#define VALGRIND_RESIZEINPLACE_BLOCK(object, old_size, new_size, red_zone) \
	bp_pool_resize(NULL, (const void *)(object), (const void *)(object), (new_size))
#define VALGRIND_MAKE_MEM_NOACCESS(memory, size) ((void)(memory), 0)
#define VALGRIND_MAKE_MEM_UNDEFINED(memory, size) ((void)(memory), 0)
#define VALGRIND_MAKE_MEM_DEFINED(memory, size) ((void)(memory), 0)
#define VALGRIND_DISABLE_ERROR_REPORTING ((void)0)
#define VALGRIND_ENABLE_ERROR_REPORTING ((void)0)
#define RUNNING_ON_VALGRIND 0

#endif
