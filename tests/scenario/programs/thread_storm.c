/* SPDX-License-Identifier: MIT */
/*
 * Waves of short threads that allocate, free what threads of the wave before allocated, and leave
 * objects for the next: recycled thread descriptors, objects freed by others, and thread ends in
 * every order. Contents are checked at the free.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"

#define WAVES 12
#define THREADS 24
#define OBJECTS 100

struct parcel {
	unsigned char *pointer;
	size_t size;
};

static struct parcel parcels[2][THREADS][OBJECTS];
static int wave;

static void *thread_main(void *argument)
{
	size_t number = (size_t)(uintptr_t)argument;
	uint64_t seed = number * 1000003 + (uint64_t)wave + 1;
	struct parcel *old = parcels[(wave + 1) % 2][(number + 7) % THREADS];
	struct parcel *new = parcels[wave % 2][number];
	for (int i = 0; i < OBJECTS; i++) {
		if (old[i].pointer) {
			for (size_t j = 0; j < old[i].size; j++)
				CHECK(old[i].pointer[j] == (unsigned char)i);
			free(old[i].pointer);
		}
		new[i].size = random_between(&seed, 1, i % 20 ? 200 : 100000);
		new[i].pointer = malloc(new[i].size);
		CHECK(new[i].pointer != NULL);
		memset(new[i].pointer, i, new[i].size);
	}
	if (number % 3 == 0)
		pthread_exit(NULL);
	return NULL;
}

int main(void)
{
	for (wave = 0; wave < WAVES; wave++) {
		pthread_t threads[THREADS];
		for (uintptr_t i = 0; i < THREADS; i++)
			CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_join(threads[i], NULL) == 0);
	}
	puts("done");
	return 0;
}
