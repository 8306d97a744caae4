/* SPDX-License-Identifier: MIT */
/*
 * Objects of known lifetimes, for tests/scenario/test_lifetimes.py. Every 2 ms for 150 rounds each
 * site allocates:
 *
 *	site_soon	20 of 200 bytes, freed at once
 *	site_mixed	10 of 500 bytes; of 10, 5 freed after 3 rounds, 3 after 30 rounds, 2 never
 *	site_handed	6 of 1000 bytes, freed after 1 round: of 6, 2 by the other thread, 4 by this one
 *	site_large	1 of 3000 bytes, freed after 20 rounds
 *	site_sizes	5 of 100 bytes, freed after 10 rounds, and 1 of 1500 bytes, freed at once
 *
 * The program's own record, in static memory, has the times of each object by CLOCK_MONOTONIC; it
 * is printed at the end, a line for each object: site, size, when it was made and when it was freed
 * (0: never), and whether the other thread freed it. The last line is the time of the end, which
 * comes immediately before it: what is live then has that age.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "site.h"

#define ROUNDS 150
#define OBJECTS_MAX 8192
#define ROUND_NS 2000000

struct object {
	const char *site;
	void *memory;
	size_t size;
	uint64_t born_ns, died_ns; /* 0: still live */
	int due;		   /* the round in which it is freed; -1: never */
	int handed;
};

static struct object objects[OBJECTS_MAX];
static int object_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int round_now, round_freed = -1; /* of the other thread: what it has freed */

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

SITE(soon)
SITE(mixed)
SITE(handed)
SITE(large)
SITE(sizes)

static struct object *add(const char *site, void *(*make)(size_t), size_t size, int due)
{
	struct object *object = &objects[object_count++];
	if (object_count > OBJECTS_MAX)
		abort();
	*object = (struct object){ .site = site, .size = size, .due = due };
	object->born_ns = now_ns();
	object->memory = make(size);
	return object;
}

static void end(struct object *object)
{
	free(object->memory);
	object->died_ns = now_ns();
}

static void make_objects(int number)
{
	for (int i = 0; i < 20; i++)
		end(add("site_soon", site_soon, 200, -1));
	for (int i = 0; i < 10; i++)
		add("site_mixed", site_mixed, 500, i < 5 ? number + 3 : i < 8 ? number + 30 : -1);
	for (int i = 0; i < 6; i++)
		add("site_handed", site_handed, 1000, number + 1)->handed = i < 2;
	add("site_large", site_large, 3000, number + 20);
	for (int i = 0; i < 5; i++)
		add("site_sizes", site_sizes, 100, number + 10);
	end(add("site_sizes", site_sizes, 1500, -1));
}

/* Frees what is due: the handed ones are the other thread's. */
static void end_due(int number, int handed)
{
	for (int i = 0; i < object_count; i++)
		if (objects[i].due == number && objects[i].handed == handed)
			end(&objects[i]);
}

static void *other_thread(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (round_freed < ROUNDS - 1) {
		while (round_now == round_freed)
			pthread_cond_wait(&changed, &lock);
		end_due(round_now, 1);
		round_freed = round_now;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	const struct timespec pause = { 0, ROUND_NS };
	round_now = -1;
	pthread_create(&thread, NULL, other_thread, NULL);
	for (int number = 0; number < ROUNDS; number++) {
		make_objects(number);
		end_due(number, 0);
		pthread_mutex_lock(&lock);
		round_now = number;
		pthread_cond_broadcast(&changed);
		while (round_freed != number)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < object_count; i++)
		printf("%s %zu %llu %llu %d\n", objects[i].site, objects[i].size,
			(unsigned long long)objects[i].born_ns,
			(unsigned long long)objects[i].died_ns, objects[i].handed);
	printf("%llu\n", (unsigned long long)now_ns());
	return 0;
}
