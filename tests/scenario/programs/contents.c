/* SPDX-License-Identifier: MIT */
/*
 * A long random walk over the whole malloc family in four threads, every object filled with its own
 * pattern, checked at every realloc and free, for overlap, alignment and lost bytes. Realloc
 * crosses every border there is: slot to slot, slot to heap, heap to slot, heap in place, mapped
 * chunks.
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

#define THREADS 4

/* What malloc promises: glibc's 16, that of others for small sizes less (the argument). */
static uintptr_t malloc_alignment = 16;
#define OBJECTS 300
#define STEPS 20000

struct parcel {
	unsigned char *pointer;
	size_t size;
	unsigned char pattern;
};

static void check(const struct parcel *parcel, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += i < 64 ? 1 : 61)
		CHECK(parcel->pointer[i] == parcel->pattern);
	if (bytes)
		CHECK(parcel->pointer[bytes - 1] == parcel->pattern);
}

static size_t random_size(uint64_t *seed)
{
	switch (next_random(seed) >> 40 & 15) {
	case 0:
		return 0;
	case 1:
		return random_between(seed, 60000, 70000);
	case 2:
		return random_between(seed, 120000, 300000);
	case 3:
	case 4:
		return random_between(seed, 1000, 20000);
	default:
		return random_between(seed, 1, 500);
	}
}

static unsigned char *allocate(uint64_t *seed, size_t size)
{
	size_t alignment = (size_t)8 << random_between(seed, 0, 9);
	void *pointer = NULL;
	switch (next_random(seed) >> 40 & 7) {
	case 0:
		return calloc(1, size);
	case 1:
		return realloc(NULL, size ? size : 1);
	case 2:
		CHECK(posix_memalign(&pointer, alignment, size) == 0);
		CHECK((uintptr_t)pointer % alignment == 0);
		return pointer;
	case 3:
		pointer = aligned_alloc(alignment, size);
		CHECK((uintptr_t)pointer % alignment == 0);
		return pointer;
	case 4:
		return valloc(size);
	case 5:
		return reallocarray(NULL, size ? size : 1, 1);
	default:
		return malloc(size);
	}
}

static void step(struct parcel *parcel, uint64_t *seed)
{
	size_t size = random_size(seed);
	if (parcel->pointer && next_random(seed) >> 40 & 1) {
		size_t common = size < parcel->size ? size : parcel->size;
		parcel->pointer = realloc(parcel->pointer, size ? size : 1);
		CHECK(parcel->pointer != NULL);
		check(parcel, common);
	} else {
		if (parcel->pointer)
			check(parcel, parcel->size);
		free(parcel->pointer);
		parcel->pointer = allocate(seed, size);
		CHECK(parcel->pointer != NULL);
	}
	CHECK((uintptr_t)parcel->pointer % malloc_alignment == 0);
	parcel->size = size;
	parcel->pattern = (unsigned char)(next_random(seed) >> 40);
	memset(parcel->pointer, parcel->pattern, size);
	CHECK(malloc_usable_size(parcel->pointer) >= size);
}

static void *walk(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument * 7919 + 1;
	struct parcel *parcels = calloc(OBJECTS, sizeof(*parcels));
	for (int i = 0; i < STEPS; i++)
		step(&parcels[random_between(&seed, 0, OBJECTS - 1)], &seed);
	for (int i = 0; i < OBJECTS; i++) {
		if (parcels[i].pointer)
			check(&parcels[i], parcels[i].size);
		free(parcels[i].pointer);
	}
	free(parcels);
	return NULL;
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		malloc_alignment = (uintptr_t)atoi(arguments[1]);
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, walk, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("done");
	return 0;
}
