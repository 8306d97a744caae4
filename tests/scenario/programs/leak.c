/* SPDX-License-Identifier: MIT */
/*
 * A program that leaks in one place among busy churn: a cache that fills up in the first third of
 * its work, queues whose length goes up and down, short-lived objects by the million, and one
 * function that forgets an object now and then. The argument is the number of rounds, 3000 by
 * default.
 */
#include "check.h"

#define CACHE_OBJECTS 2000
#define QUEUE_OBJECTS 600

#define SITE __attribute__((noinline))

static void *cache[CACHE_OBJECTS], *queue[QUEUE_OBJECTS];
static volatile unsigned forgotten;

SITE static void *site_cache(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

SITE static void *site_queue(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

SITE static void site_brief(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	free(pointer);
}

SITE static void site_leak(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	forgotten++;
}

/* The queue's length swings between nothing and all of its room. */
static void swing(int round, uint64_t *state)
{
	int length = round % 200 < 100 ? round % 100 * QUEUE_OBJECTS / 100
				       : (99 - round % 100) * QUEUE_OBJECTS / 100;
	for (int i = 0; i < QUEUE_OBJECTS; i++) {
		if (i < length && queue[i] == NULL)
			queue[i] = site_queue(random_between(state, 64, 2048));
		if (i >= length) {
			free(queue[i]);
			queue[i] = NULL;
		}
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3000;
	uint64_t state = 7;
	for (int round = 0; round < rounds; round++) {
		int slot = (int)random_between(&state, 0, CACHE_OBJECTS - 1);
		if (round < rounds / 3)
			for (int i = round * CACHE_OBJECTS / (rounds / 3); i < CACHE_OBJECTS; i++) {
				if (cache[i] != NULL)
					continue;
				cache[i] = site_cache(1000);
				break;
			}
		free(cache[slot]);
		cache[slot] = site_cache(1000);
		swing(round, &state);
		for (int i = 0; i < 300; i++)
			site_brief(random_between(&state, 16, 512));
		site_leak(200);
	}
	return 0;
}
