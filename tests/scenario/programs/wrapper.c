/* SPDX-License-Identifier: MIT */
/* A library that puts one function of the malloc family, WRAPPED, before the C library's, and
 * prints at the end how often it was called. It looks the function behind it up at each call, as
 * RTLD_NEXT or, for a WRAPPED of libc_FUNCTION, by glibc's own name __libc_FUNCTION. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long calls;

/* The libc_ variants do without it. */
__attribute__((unused)) static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);
	calls++;
	if (function == NULL)
		abort();
	return function;
}

#define NEXT(name) ((__typeof__(&name))next(#name))

#if defined WRAP_malloc
void *malloc(size_t size)
{
	return NEXT(malloc)(size);
}
#elif defined WRAP_free
void free(void *object)
{
	NEXT(free)(object);
}
#elif defined WRAP_calloc
void *calloc(size_t count, size_t size)
{
	return NEXT(calloc)(count, size);
}
#elif defined WRAP_realloc
void *realloc(void *object, size_t size)
{
	return NEXT(realloc)(object, size);
}
#elif defined WRAP_reallocarray
void *reallocarray(void *object, size_t count, size_t size)
{
	return NEXT(reallocarray)(object, count, size);
}
#elif defined WRAP_memalign
void *memalign(size_t alignment, size_t size)
{
	return NEXT(memalign)(alignment, size);
}
#elif defined WRAP_aligned_alloc
void *aligned_alloc(size_t alignment, size_t size)
{
	return NEXT(aligned_alloc)(alignment, size);
}
#elif defined WRAP_posix_memalign
int posix_memalign(void **object, size_t alignment, size_t size)
{
	return NEXT(posix_memalign)(object, alignment, size);
}
#elif defined WRAP_valloc
void *valloc(size_t size)
{
	return NEXT(valloc)(size);
}
#elif defined WRAP_malloc_usable_size
size_t malloc_usable_size(void *object)
{
	return NEXT(malloc_usable_size)(object);
}
#elif defined WRAP_libc_calloc
void *__libc_calloc(size_t count, size_t size);
void *calloc(size_t count, size_t size)
{
	calls++;
	return __libc_calloc(count, size);
}
#elif defined WRAP_libc_memalign
void *__libc_memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
	calls++;
	return __libc_memalign(alignment, size);
}
#elif defined WRAP_libc_malloc
void *__libc_malloc(size_t size);
void __libc_free(void *object);
void *malloc(size_t size)
{
	calls++;
	return __libc_malloc(size);
}
void free(void *object)
{
	calls++;
	__libc_free(object);
}
#endif

__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "%lu calls\n", calls);
}
