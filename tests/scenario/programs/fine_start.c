/* SPDX-License-Identifier: MIT */
/*
 * A program that goes through all steps of the fine start, with its memory known (truth.h). The
 * main thread makes `early`; two threads make a thousand MB each of small, middle and large
 * objects, of which some of the small and middle ones stay; then the main thread makes `last` and
 * frees what is `early`. With an argument it makes alone what a thread would.
 */
#include <pthread.h>
#include <stdbool.h>

#include "truth.h"

#define SITES(X) X(early) X(small) X(middle) X(large) X(last)
#define NUMBER(name) number_##name,
enum { SITES(NUMBER) SITE_COUNT };
#define ENTRY(word) { "site_" #word, { 0 }, { 0 } },
static struct site sites[] = { SITES(ENTRY) };

#define MALLOC_SITE(name)                                                \
	SITE static void site_##name(struct object *object, size_t size) \
	{                                                                \
		made(object, &sites[number_##name], malloc(size), size); \
	}
SITES(MALLOC_SITE)

enum { ROUNDS = 24000, EARLY = 8000, LAST = 4000, EARLY_SIZE = 3000, LAST_SIZE = 5000 };

static struct object kept[EARLY + LAST];

/* 40 kB a round: 12 small objects, 8 of middle size, and every fourth time a large one. */
static void *work(void *number)
{
	uint64_t state = (uint64_t)(intptr_t)number;
	this_thread = (int)(intptr_t)number;
	for (int round = 0; round < ROUNDS; round++) {
		struct object objects[20];
		for (int i = 0; i < 20; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			const size_t random = state >> 40;
			if (i < 12)
				site_small(&objects[i], 16 + random % 200);
			else
				site_middle(&objects[i], 1000 + random % 2000);
		}
		for (int i = 0; i < 20; i++)
			if (i != round % 20)
				drop(&objects[i]);
		if (round % 4 != 0)
			continue;
		state = state * 6364136223846793005u + 1442695040888963407u;
		site_large(&objects[0], 20000 + (state >> 40) % 160000);
		drop(&objects[0]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const bool alone = argc > 1;
	pthread_t threads[2];
	for (int i = 0; i < EARLY; i++)
		site_early(&kept[i], EARLY_SIZE);
	(void)argv;
	if (alone)
		work((void *)0);
	for (int i = 0; i < 2 && !alone; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(i + 1)) == 0);
	for (int i = 0; i < 2 && !alone; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < LAST; i++)
		site_last(&kept[EARLY + i], LAST_SIZE);
	for (int i = 0; i < EARLY; i++)
		drop(&kept[i]);
	print_truth(sites, SITE_COUNT);
	return 0;
}
