/* SPDX-License-Identifier: MIT */
/* Preloaded into CPython: the allocator of the domain raw, which pymalloc asks for what it does not
 * serve itself, fills all that it gets. */
#include <stdlib.h>
#include <string.h>

struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *object, size_t size);
	void (*free)(void *context, void *object);
};

extern void PyMem_SetAllocator(int domain, struct allocator *allocator) __attribute__((weak));

static void *fill_malloc(void *context, size_t size)
{
	(void)context;
	void *object = malloc(size + (size == 0));
	if (object != NULL)
		memset(object, 0xDD, size);
	return object;
}

static void *fill_calloc(void *context, size_t count, size_t size)
{
	(void)context;
	void *object = calloc(count + (count == 0), size + (size == 0));
	if (object != NULL)
		memset(object, 0, count * size);
	return object;
}

static void *fill_realloc(void *context, void *object, size_t size)
{
	(void)context;
	return realloc(object, size + (size == 0));
}

static void fill_free(void *context, void *object)
{
	(void)context;
	free(object);
}

__attribute__((constructor)) static void begin(void)
{
	struct allocator filling = { NULL, fill_malloc, fill_calloc, fill_realloc, fill_free };
	if (PyMem_SetAllocator != NULL)
		PyMem_SetAllocator(0, &filling);
}
