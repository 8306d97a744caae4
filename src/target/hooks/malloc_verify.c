/* SPDX-License-Identifier: MIT */
/*
 * The hooks of the recorder that verifies, in place of malloc.c: each does what the hook there
 * does, by the same charge and the same test, and reports the object to verify.h. So what the
 * sampler sees, what is sampled, and where objects live are the same; each call only takes longer.
 * A free is reported before the real free, everything else after the real function. errno is the
 * real function's.
 */
#include <malloc.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "recognition/hot.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/verify.h"

void *bp_realloc_to_nothing(void *object); /* aliases.c */

static bool crosses(size_t size)
{
	return bp_sampler_crosses(&bp_hot.counters, size);
}

static bool is_large(const void *object)
{
	return object != NULL && bp_header_word(object) >= BP_HEADER_LARGE;
}

static uint64_t objects_made(void)
{
	return bp_hot.counters.objects;
}

/* Tells of a request, and gives its object to the program. A failure that was not undone (the real
 * function alone failed) stays in the thread's counters: then they have moved on from `before`. */
static void *told(void *object, size_t size, uint64_t before)
{
	if (object != NULL)
		bp_verify_made(object, size);
	else if (objects_made() != before)
		bp_verify_failed(size);
	return object;
}

BP_EXPORT void *malloc(size_t size)
{
	const uint64_t before = objects_made();
	return told(crosses(size) ? bp_cold_malloc(size) : bp_real.malloc(size), size, before);
}

BP_EXPORT void free(void *object)
{
	bp_verify_freed(object);
	if (is_large(object))
		bp_known_free(object);
	else
		bp_real.free(object);
}

BP_EXPORT void *calloc(size_t count, size_t size)
{
	const uint64_t before = objects_made();
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return bp_real.calloc(count, size); /* fails, and so does not count */
	return told(crosses(bytes) ? bp_cold_calloc(count, size) : bp_real.calloc(count, size),
		bytes, before);
}

static void *reallocate(void *object, size_t size)
{
	if (crosses(size))
		return bp_cold_realloc(object, size);
	return is_large(object) ? bp_known_realloc(object, size) : bp_real.realloc(object, size);
}

BP_EXPORT void *realloc(void *object, size_t size)
{
	const uint64_t before = objects_made();
	if (size == 0)
		return bp_realloc_to_nothing(object);
	const struct bp_verify_old old = bp_verify_take(object);
	void *result = reallocate(object, size);
	if (result != NULL)
		bp_verify_freed_by_realloc(&old);
	else
		bp_verify_put_back(&old);
	return told(result, size, before);
}

/* As the hooks of the aligned functions there. */
static void *made(void *object, size_t size)
{
	if (object == NULL)
		bp_cold_uncharge(size);
	return object;
}

BP_EXPORT void *memalign(size_t alignment, size_t size)
{
	const uint64_t before = objects_made();
	return told(crosses(size) ? bp_cold_memalign(alignment, size)
				  : made(bp_real.memalign(alignment, size), size),
		size, before);
}

BP_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	const uint64_t before = objects_made();
	return told(crosses(size) ? bp_cold_aligned_alloc(alignment, size)
				  : made(bp_real.aligned_alloc(alignment, size), size),
		size, before);
}

BP_EXPORT int posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	const uint64_t before = objects_made();
	const bool crossed = crosses(size);
	const int error = crossed ? bp_cold_posix_memalign(ret_object, alignment, size)
				  : bp_real.posix_memalign(ret_object, alignment, size);
	if (error != 0 && !crossed)
		bp_cold_uncharge(size);
	(void)told(error == 0 ? *ret_object : NULL, size, before);
	return error;
}

BP_EXPORT void *valloc(size_t size)
{
	const uint64_t before = objects_made();
	return told(crosses(size) ? bp_cold_valloc(size) : made(bp_real.valloc(size), size), size,
		before);
}

BP_EXPORT void *pvalloc(size_t size)
{
	const uint64_t before = objects_made();
	return told(crosses(size) ? bp_cold_pvalloc(size) : made(bp_real.pvalloc(size), size), size,
		before);
}

BP_EXPORT size_t malloc_usable_size(void *object)
{
	return is_large(object) ? bp_known_usable_size(object) : bp_real.malloc_usable_size(object);
}
