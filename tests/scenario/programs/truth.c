/* SPDX-License-Identifier: MIT */
/*
 * A program whose memory is known: every call of the malloc family in every regime that the
 * recorder treats differently, one function per call site, with the truth counted beside it
 * (truth.h). Sizes are small, large (the driver samples with T = 2048), mixed across T, zero, above
 * the 64 KiB where sampled objects stay in glibc's heap and above the threshold where glibc maps
 * them. The argument, 1 by default, multiplies the number of objects; a second one, `portable`,
 * leaves out what other allocators do otherwise.
 *
 * The mix is chosen so that every site and metric that is not zero has at least 25 expected samples
 * at T = 2048 or is recorded with certainty: an empty row then has a probability below 1e-10.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "truth.h"

/* clang-format off */
#define SITES(X) \
	X(small_fixed) X(small_mixed) X(wide_mixed) X(large) X(huge) X(zero) X(calloc_small) \
	X(calloc_large) X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(pvalloc) \
	X(grow_first) X(grow) X(shrink_first) X(shrink) X(place_first) X(place) X(moved) \
	X(realloc_null) X(realloc_zero) X(reallocarray) X(large_first) X(large_grow) \
	X(thread_temporary) X(thread_handed) X(thread_leaked) X(failing)
/* clang-format on */

#define NUMBER(name) number_##name,
enum { SITES(NUMBER) SITE_COUNT };
#define ENTRY(word) { "site_" #word, { 0 }, { 0 } },
static struct site sites[] = { SITES(ENTRY) };

/* The site function of a plain malloc. */
#define MALLOC_SITE(name)                                                \
	SITE static void site_##name(struct object *object, size_t size) \
	{                                                                \
		made(object, &sites[number_##name], malloc(size), size); \
	}

MALLOC_SITE(small_fixed)
MALLOC_SITE(small_mixed)
MALLOC_SITE(wide_mixed)
MALLOC_SITE(large)
MALLOC_SITE(huge)
MALLOC_SITE(zero)
MALLOC_SITE(grow_first)
MALLOC_SITE(shrink_first)
MALLOC_SITE(place_first)
MALLOC_SITE(large_first)
MALLOC_SITE(realloc_zero)
MALLOC_SITE(thread_temporary)
MALLOC_SITE(thread_handed)
MALLOC_SITE(thread_leaked)

/* A site that reallocates: the old block goes before the new one is made. */
#define REALLOC_SITE(name)                                                     \
	SITE static void site_##name(struct object *object, size_t size)       \
	{                                                                      \
		void *old = object->pointer;                                   \
		gone(object);                                                  \
		made(object, &sites[number_##name], realloc(old, size), size); \
	}

REALLOC_SITE(grow)
REALLOC_SITE(shrink)
REALLOC_SITE(place)
REALLOC_SITE(moved)
REALLOC_SITE(large_grow)

SITE static void site_realloc_null(struct object *object, size_t size)
{
	made(object, &sites[number_realloc_null], realloc(NULL, size), size);
}

SITE static void site_reallocarray(struct object *object, size_t count, size_t size)
{
	made(object, &sites[number_reallocarray], reallocarray(NULL, count, size), count * size);
}

SITE static void site_calloc_small(struct object *object, size_t count, size_t size)
{
	made(object, &sites[number_calloc_small], calloc(count, size), count * size);
}

SITE static void site_calloc_large(struct object *object, size_t count, size_t size)
{
	made(object, &sites[number_calloc_large], calloc(count, size), count * size);
}

SITE static void site_posix_memalign(struct object *object, size_t alignment, size_t size)
{
	void *pointer = NULL;
	CHECK(posix_memalign(&pointer, alignment, size) == 0);
	CHECK((uintptr_t)pointer % alignment == 0);
	made(object, &sites[number_posix_memalign], pointer, size);
}

SITE static void site_aligned_alloc(struct object *object, size_t alignment, size_t size)
{
	made(object, &sites[number_aligned_alloc], aligned_alloc(alignment, size), size);
	CHECK((uintptr_t)object->pointer % alignment == 0);
}

SITE static void site_memalign(struct object *object, size_t alignment, size_t size)
{
	made(object, &sites[number_memalign], memalign(alignment, size), size);
	CHECK((uintptr_t)object->pointer % alignment == 0);
}

/* Without pvalloc, which not all have, and realloc to nothing as a free. */
static bool portable;

SITE static void site_valloc(struct object *object, size_t size)
{
	made(object, &sites[number_valloc], valloc(size), size);
	CHECK((uintptr_t)object->pointer % 4096 == 0);
}

SITE static void site_pvalloc(struct object *object, size_t size)
{
	made(object, &sites[number_pvalloc], portable ? valloc(size) : pvalloc(size), size);
	CHECK((uintptr_t)object->pointer % 4096 == 0);
}

SITE static void site_failing(volatile size_t size)
{
	errno = 0;
	void *pointer = malloc(size);
	KEEP(pointer);
	CHECK(pointer == NULL && errno == ENOMEM);
}

#define POOL_OBJECTS 100000
static struct object pool[POOL_OBJECTS];
static uint64_t seed = 88172645463325252u;

static size_t between(size_t low, size_t high)
{
	return random_between(&seed, low, high);
}

/* Frees the first `count` objects of the pool but those whose index is a multiple of `keep`
 * (0: frees all); what is kept leaks. */
static void drop_pool(int count, int keep)
{
	separate();
	for (int i = 0; i < count; i++)
		if (!keep || i % keep)
			drop(&pool[i]);
}

static void plain_sizes(void)
{
	for (int i = 0; i < 20000; i++) {
		site_small_fixed(&pool[0], 24);
		drop(&pool[0]);
	}
	for (int i = 0; i < 6000; i++)
		site_small_mixed(&pool[i], between(1, 256));
	drop_pool(6000, 2);
	for (int i = 0; i < 1500; i++)
		site_wide_mixed(&pool[i], between(1, 16) << between(0, 10));
	drop_pool(1500, 2);
	for (int i = 0; i < 60; i++)
		site_large(&pool[i], between(2047, 40000));
	drop_pool(60, 3);
	for (int i = 0; i < 12; i++)
		site_huge(&pool[i], between(66000, 300000));
	drop_pool(12, 3);
	for (int i = 0; i < 90000; i++)
		site_zero(&pool[i], 0);
	drop_pool(90000, 2);
	site_failing(PTRDIFF_MAX);
}

static void zeroed_and_aligned(void)
{
	for (int i = 0; i < 5000; i++)
		site_calloc_small(&pool[i], 3, 30);
	drop_pool(5000, 4);
	for (int i = 0; i < 40; i++)
		site_calloc_large(&pool[i], 8, 1000);
	drop_pool(40, 4);
	for (int i = 0; i < 2000; i++)
		site_posix_memalign(&pool[i], (size_t)8 << between(0, 9), between(1, 400));
	drop_pool(2000, 4);
	for (int i = 0; i < 2000; i++) {
		site_aligned_alloc(&pool[0], 64, 192);
		drop(&pool[0]);
	}
	for (int i = 0; i < 1000; i++)
		site_memalign(&pool[i], 32, 500);
	drop_pool(1000, 2);
	for (int i = 0; i < 200; i++)
		site_valloc(&pool[i], 1000);
	drop_pool(200, 2);
	for (int i = 0; i < 200; i++)
		site_pvalloc(&pool[i], 1000);
	drop_pool(200, 2);
}

static void fill(const struct object *object)
{
	memset(object->pointer, 0x5a, object->size);
}

static void check_filled(const struct object *object, size_t bytes)
{
	const unsigned char *p = object->pointer;
	for (size_t i = 0; i < bytes; i++)
		CHECK(p[i] == 0x5a);
}

static void reallocated(void)
{
	for (int i = 0; i < 150; i++) {
		site_grow_first(&pool[i], 600);
		fill(&pool[i]);
		for (size_t size = 900; size < 5000; size += size / 2) {
			size_t old_bytes = pool[i].size;
			site_grow(&pool[i], size);
			check_filled(&pool[i], old_bytes);
			fill(&pool[i]);
		}
	}
	drop_pool(150, 2);
	for (int i = 0; i < 400; i++) {
		site_shrink_first(&pool[i], 1800);
		fill(&pool[i]);
		site_shrink(&pool[i], 900);
		site_shrink(&pool[i], 300);
		check_filled(&pool[i], 300);
	}
	drop_pool(400, 2);
	for (int i = 0; i < 5000; i++) { /* glibc has 24 bytes for 20 */
		site_place_first(&pool[i], 20);
		site_place(&pool[i], 24);
	}
	drop_pool(5000, 2);
	for (int i = 0; i < 2000; i++) /* hemmed in by its neighbours, each must move */
		site_realloc_null(&pool[i], 120);
	for (int i = 0; i < 1000; i++)
		site_moved(&pool[i], 500);
	drop_pool(2000, 3);
	for (int i = 0; i < 4000; i++) {
		site_realloc_zero(&pool[0], 150);
		void *pointer = pool[0].pointer;
		gone(&pool[0]);
		if (portable) {
			free(pointer);
			continue;
		}
		pointer = realloc(pointer, 0);
		KEEP(pointer);
		CHECK(pointer == NULL);
	}
	for (int i = 0; i < 3000; i++)
		site_reallocarray(&pool[i], 5, 30);
	drop_pool(3000, 3);
	for (int i = 0; i < 6; i++) {
		site_large_first(&pool[i], 30000);
		for (size_t size = 60000; size < 500000; size += size)
			site_large_grow(&pool[i], size);
	}
	drop_pool(6, 2);
}

#define THREADS 4
#define HANDED 1500
static struct object handed[THREADS][HANDED];

static void *thread_main(void *argument)
{
	this_thread = 1 + (int)(intptr_t)argument;
	struct object *mine = handed[this_thread - 1];
	struct object object;
	for (int i = 0; i < 5000; i++) {
		site_thread_temporary(&object, 40);
		drop(&object);
	}
	for (int i = 0; i < HANDED; i++)
		site_thread_handed(&mine[i], 100);
	for (int i = 0; i < 600; i++)
		site_thread_leaked(&object, 200);
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < HANDED; j++)
			if (j % 3)
				drop(&handed[i][j]);
}

int main(int argument_count, char **arguments)
{
	int scale = argument_count > 1 ? atoi(arguments[1]) : 1;
	portable = argument_count > 2 && strcmp(arguments[2], "portable") == 0;
	for (int i = 0; i < scale; i++) {
		plain_sizes();
		zeroed_and_aligned();
		reallocated();
		in_threads();
	}
	print_truth(sites, SITE_COUNT);
	return 0;
}
