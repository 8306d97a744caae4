/* SPDX-License-Identifier: MIT */
/*
 * Other names under which a program reaches the same functions. glibc's own `__libc_` names are
 * among them, so that no sampled object reaches its free unseen.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "hooks/libc_names.h"

void *bp_realloc_to_nothing(void *object);

/* realloc(object, 0): glibc frees and returns NULL, but makes a new object of none. */
void *bp_realloc_to_nothing(void *object)
{
	if (object == NULL)
		return malloc(0);
	free(object);
	return NULL;
}

BP_EXPORT void *reallocarray(void *object, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(object, bytes);
}

BP_EXPORT void cfree(void *object)
{
	free(object);
}

BP_EXPORT void free_sized(void *object, size_t size)
{
	(void)size;
	free(object);
}

BP_EXPORT void free_aligned_sized(void *object, size_t alignment, size_t size)
{
	(void)alignment, (void)size;
	free(object);
}

BP_EXPORT void *__libc_malloc(size_t size)
{
	return malloc(size);
}

BP_EXPORT void __libc_free(void *object)
{
	free(object);
}

BP_EXPORT void *__libc_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

BP_EXPORT void *__libc_realloc(void *object, size_t size)
{
	return realloc(object, size);
}

BP_EXPORT void *__libc_memalign(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

BP_EXPORT void *__libc_valloc(size_t size)
{
	return valloc(size);
}

BP_EXPORT void *__libc_pvalloc(size_t size)
{
	return pvalloc(size);
}
