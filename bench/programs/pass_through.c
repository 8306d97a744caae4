/* SPDX-License-Identifier: MIT */
/*
 * The least a preloaded allocator wrapper can do: one `jmp *real` per call. What the recorder costs
 * beyond this is its own doing; what this costs is the price of being preloaded at all.
 */
#include <dlfcn.h>
#include <stddef.h>

#define PASS(type, name, parameters, arguments)                   \
	static type first_##name parameters;                      \
	static type(*real_##name) parameters = first_##name;      \
	type name parameters;                                     \
	static type first_##name parameters                       \
	{                                                         \
		*(void **)&real_##name = dlsym(RTLD_NEXT, #name); \
		return real_##name arguments;                     \
	}                                                         \
	type name parameters                                      \
	{                                                         \
		return real_##name arguments;                     \
	}

PASS(void *, malloc, (size_t size), (size))
PASS(void *, calloc, (size_t count, size_t size), (count, size))
PASS(void *, realloc, (void *object, size_t size), (object, size))
PASS(void *, memalign, (size_t alignment, size_t size), (alignment, size))
PASS(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
PASS(int, posix_memalign, (void **ret, size_t alignment, size_t size), (ret, alignment, size))
PASS(void *, _Znwm, (size_t size), (size))

static void first_free(void *object);
static void (*real_free)(void *) = first_free;
static void first_delete(void *object, size_t size);
static void (*real_delete)(void *, size_t) = first_delete;

void free(void *object);
void _ZdlPvm(void *object, size_t size);

static void first_free(void *object)
{
	*(void **)&real_free = dlsym(RTLD_NEXT, "free");
	real_free(object);
}

void free(void *object)
{
	real_free(object);
}

static void first_delete(void *object, size_t size)
{
	*(void **)&real_delete = dlsym(RTLD_NEXT, "_ZdlPvm");
	real_delete(object, size);
}

void _ZdlPvm(void *object, size_t size)
{
	real_delete(object, size);
}
