/* SPDX-License-Identifier: MIT */
/*
 * The hot hooks: what every malloc and free of the program runs. Nothing else may be in this file:
 * no logging, no configuration, no statistics; it includes the hot block and the table of real
 * functions only, and its undefined symbols are checked.
 *
 * In instructions, to the jump into the real function (x86-64, checked by tests/contract):
 *   malloc  mov (TLS offset), subq, sbb, jb, jmp                5
 *   free    test, je, cmp (the size word), jae, jmp             5
 * Over a malloc that is not glibc's, free, realloc and malloc_usable_size are rewritten at start
 * (foreign.c): free is then mov, shr, cmpb, jne, jmp, and needs 28 bytes of room. malloc, calloc
 * and realloc jump on, and so cannot take the charge of a request back that fails later. The
 * aligned functions are rarer and fail for more reasons (alignments); they look at what they get.
 * The cold functions take the same arguments, so that reaching them is a jump too: no frame.
 */
#include <malloc.h>
#include <stdlib.h>

#include "recognition/hot.h"
#include "recorder/real.h"

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define unlikely(condition) __builtin_expect(!!(condition), 0)

HIDDEN void *bp_cold_malloc(size_t size);
HIDDEN void *bp_cold_calloc(size_t count, size_t size);
HIDDEN void *bp_cold_realloc(void *object, size_t size);
HIDDEN void *bp_cold_memalign(size_t alignment, size_t size);
HIDDEN void *bp_cold_aligned_alloc(size_t alignment, size_t size);
HIDDEN int bp_cold_posix_memalign(void **ret_object, size_t alignment, size_t size);
HIDDEN void *bp_cold_valloc(size_t size);
HIDDEN void *bp_cold_pvalloc(size_t size);
HIDDEN void bp_cold_uncharge(size_t size);
HIDDEN void bp_known_free(void *object);
HIDDEN void *bp_known_realloc(void *object, size_t size);
HIDDEN size_t bp_known_usable_size(void *object);
HIDDEN void *bp_realloc_to_nothing(void *object); /* aliases.c */

EXPORT void *malloc(size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_malloc(size);
	return bp_real.malloc(size);
}

EXPORT void free(void *object)
{
	if (object != NULL && unlikely(bp_header_word(object) >= BP_HEADER_LARGE)) {
		bp_known_free(object);
		return;
	}
	bp_real.free(object);
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t bytes;
	if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
		return bp_real.calloc(count, size); /* fails, and so does not count */
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, bytes)))
		return bp_cold_calloc(count, size);
	return bp_real.calloc(count, size);
}

EXPORT void *realloc(void *object, size_t size)
{
	if (unlikely(size == 0))
		return bp_realloc_to_nothing(object);
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_realloc(object, size);
	if (object != NULL && unlikely(bp_header_word(object) >= BP_HEADER_LARGE))
		return bp_known_realloc(object, size);
	return bp_real.realloc(object, size);
}

/* A request that failed was charged, and did not borrow. */
static inline void *made(void *object, size_t size)
{
	if (unlikely(object == NULL))
		bp_cold_uncharge(size);
	return object;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_memalign(alignment, size);
	return made(bp_real.memalign(alignment, size), size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_aligned_alloc(alignment, size);
	return made(bp_real.aligned_alloc(alignment, size), size);
}

EXPORT int posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_posix_memalign(ret_object, alignment, size);
	const int error = bp_real.posix_memalign(ret_object, alignment, size);
	if (unlikely(error != 0))
		bp_cold_uncharge(size);
	return error;
}

EXPORT void *valloc(size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_valloc(size);
	return made(bp_real.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
	if (unlikely(bp_sampler_crosses(&bp_hot.counters, size)))
		return bp_cold_pvalloc(size);
	return made(bp_real.pvalloc(size), size);
}

EXPORT size_t malloc_usable_size(void *object)
{
	if (object != NULL && unlikely(bp_header_word(object) >= BP_HEADER_LARGE))
		return bp_known_usable_size(object);
	return bp_real.malloc_usable_size(object);
}
