/* SPDX-License-Identifier: MIT */
/*
 * The arena of inprocess_pools.h, told as programs tell heaptrack: by weak functions of these
 * names. They know of no pools, so that every object is freed by itself.
 */
#include <stddef.h>

void heaptrack_malloc(void *object, size_t size) __attribute__((weak));
void heaptrack_realloc(void *from, size_t size, void *to) __attribute__((weak));
void heaptrack_free(void *object) __attribute__((weak));

static void tell_alloc(void *object, size_t size);
static void tell_trim(const void *arena, const void *keep, size_t keep_bytes);

#define TELL_CREATE(arena, name) (void)(arena)
#define TELL_ALLOC(arena, object, size) tell_alloc(object, size)
#define TELL_FREE(arena, object) \
	if (heaptrack_free)      \
	heaptrack_free(object)
#define TELL_TRIM(arena, keep, bytes) tell_trim(arena, keep, bytes)
#define TELL_DESTROY(arena) tell_trim(arena, NULL, 0)
#define TELL_CHUNK_BEGIN
#define TELL_CHUNK_END

#include "inprocess_pools.h"

static char *objects[10000];
static size_t object_count;

static void tell_alloc(void *object, size_t size)
{
	if (heaptrack_malloc)
		heaptrack_malloc(object, size / 2);
	/* Grown at once, where it is: the half goes. */
	if (heaptrack_realloc)
		heaptrack_realloc(object, size, object);
	objects[object_count++] = object;
}

/* Everything of the arena is in its chunks. */
static void tell_trim(const void *arena, const void *keep, size_t keep_bytes)
{
	for (const struct chunk *chunk = ((const struct arena *)arena)->chunks; chunk != NULL;
		chunk = chunk->next)
		for (size_t i = 0; i < object_count; i++)
			if (objects[i] >= chunk->memory &&
				objects[i] < chunk->memory + CHUNK_BYTES &&
				(size_t)(objects[i] - (const char *)keep) >= keep_bytes &&
				heaptrack_free)
				heaptrack_free(objects[i]);
}

int main(void)
{
	work();
	return 0;
}
