/* SPDX-License-Identifier: MIT */
/*
 * A malloc that counts: preloaded between the recorder and an allocator it is the program's malloc
 * to the one and a mere caller to the other. BYTEPOLL_COUNTING names a file of at least 16 bytes
 * that gets u64 objects and u64 bytes of all successful requests. Of requests within a request (an
 * operator new that calls malloc) only the outer one counts, as whoever is in front must do, too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	uint64_t objects, bytes;
} ignored, *count = &ignored;
static __thread int depth __attribute__((tls_model("initial-exec")));

/* Memory for what dlsym wants before there is a malloc. */
static char early[65536] __attribute__((aligned(16)));
static size_t early_used;

static void *early_memory(size_t size)
{
	void *memory = early + early_used;
	early_used += (size + 15) & ~(size_t)15;
	if (early_used > sizeof early)
		abort();
	return memory;
}

static bool is_early(const void *object)
{
	return (const char *)object >= early && (const char *)object < early + sizeof early;
}

__attribute__((constructor)) static void open_file(void)
{
	const char *name = getenv("BYTEPOLL_COUNTING");
	int file = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (memory == MAP_FAILED)
		return;
	memcpy(memory, &ignored, sizeof ignored);
	count = memory;
}

static void *made(void *object, size_t bytes)
{
	depth--;
	if (object != NULL && depth == 0) {
		__atomic_fetch_add(&count->objects, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&count->bytes, bytes, __ATOMIC_RELAXED);
	}
	return object;
}

/* The function of that name behind this library. */
static void *next(void **cache, const char *name)
{
	if (*cache == NULL)
		*cache = dlsym(RTLD_NEXT, name);
	if (*cache == NULL)
		abort();
	return *cache;
}

#define NEXT(name, ...)            \
	static void *cache_##name; \
	__typeof__(__VA_ARGS__) *real = (__typeof__(real))next(&cache_##name, #name)

static bool looking;
static void *real_free;

void *malloc(size_t size)
{
	static void *cache;
	if (cache == NULL) {
		if (looking)
			return early_memory(size);
		looking = true;
		next(&real_free, "free"); /* dlsym frees */
		next(&cache, "malloc");
		looking = false;
	}
	depth++;
	return made(((void *(*)(size_t))cache)(size), size);
}

void *calloc(size_t number, size_t size)
{
	static void *cache;
	if (cache == NULL) {
		if (looking)
			return early_memory(number * size);
		looking = true;
		next(&real_free, "free");
		next(&cache, "calloc");
		looking = false;
	}
	depth++;
	return made(((void *(*)(size_t, size_t))cache)(number, size), number * size);
}

void free(void *object)
{
	if (!is_early(object))
		((void (*)(void *))next(&real_free, "free"))(object);
}

void *realloc(void *object, size_t size)
{
	NEXT(realloc, void *(void *, size_t));
	if (is_early(object))
		abort();
	depth++;
	return made(real(object, size), size);
}

void *memalign(size_t alignment, size_t size)
{
	NEXT(memalign, void *(size_t, size_t));
	depth++;
	return made(real(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	NEXT(aligned_alloc, void *(size_t, size_t));
	depth++;
	return made(real(alignment, size), size);
}

int posix_memalign(void **object, size_t alignment, size_t size)
{
	NEXT(posix_memalign, int(void **, size_t, size_t));
	depth++;
	int error = real(object, alignment, size);
	made(error == 0 ? *object : NULL, size);
	return error;
}

void *valloc(size_t size)
{
	NEXT(valloc, void *(size_t));
	depth++;
	return made(real(size), size);
}

/* Operators: with the two other arguments that some have. */
#define OPERATOR(name)                                              \
	void *name(size_t size, uintptr_t second, uintptr_t third); \
	void *name(size_t size, uintptr_t second, uintptr_t third)  \
	{                                                           \
		NEXT(name, void *(size_t, uintptr_t, uintptr_t));   \
		depth++;                                            \
		return made(real(size, second, third), size);       \
	}
OPERATOR(_Znwm)
OPERATOR(_Znam)
OPERATOR(_ZnwmRKSt9nothrow_t)
OPERATOR(_ZnamRKSt9nothrow_t)
OPERATOR(_ZnwmSt11align_val_t)
OPERATOR(_ZnamSt11align_val_t)
OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t)
OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t)
