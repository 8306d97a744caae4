/* SPDX-License-Identifier: MIT */
/*
 * Objects of known lifetimes in bytes, for tests/scenario/test_lifetimes_bytes.py. THREADS threads
 * take turns (one of them: it has all turns); in each of its turns a thread allocates at each site
 *
 *	site_soon	10 of 200 bytes, freed at once
 *	site_turn	4 of 700 bytes, freed by whoever has the turn 5 turns later
 *	site_mixed	4 of 500 bytes; of 4, 2 freed 60 turns later, 1 400 turns later, 1 never
 *	site_late	1 of 3000 bytes, freed 150 turns later
 *
 * A turn is some 9,000 bytes. All bytes that the threads allocate are counted, and the record of each
 * object says what the count was when it was made (itself included) and when it was freed (never: at
 * the end). It is printed at the end, a line for each object: site, size, the two counts, and whether
 * it was freed. The record and the buffer of stdio are in static memory; what else is allocated, for
 * the threads, is made before the first object.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "site.h"

#define TURNS 600
#define OBJECTS_MAX 16384

struct object {
	const char *site;
	void *memory;
	size_t size;
	uint64_t born, died; /* the count; died 0: it lives */
	int due;	     /* the turn in which it is freed; -1: never */
};

static struct object objects[OBJECTS_MAX];
static int object_count, turn, threads;
static uint64_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

SITE(soon)
SITE(turn)
SITE(mixed)
SITE(late)

static struct object *add(const char *site, void *(*make)(size_t), size_t size, int due)
{
	struct object *object = &objects[object_count++];
	if (object_count > OBJECTS_MAX)
		abort();
	*object = (struct object){ .site = site, .size = size, .due = due };
	object->memory = make(size);
	object->born = count += size;
	return object;
}

static void end(struct object *object)
{
	free(object->memory);
	object->died = count;
	object->due = -1;
}

static void take_turn(void)
{
	for (int i = 0; i < object_count; i++)
		if (objects[i].due == turn)
			end(&objects[i]);
	for (int i = 0; i < 10; i++)
		end(add("site_soon", site_soon, 200, -1));
	for (int i = 0; i < 4; i++)
		add("site_turn", site_turn, 700, turn + 5);
	for (int i = 0; i < 4; i++)
		add("site_mixed", site_mixed, 500, i < 2 ? turn + 60 : i < 3 ? turn + 400 : -1);
	add("site_late", site_late, 3000, turn + 150);
}

static void *work(void *number)
{
	pthread_mutex_lock(&lock);
	while (turn < TURNS) {
		if (turn % threads != (int)(intptr_t)number) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		take_turn();
		turn++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int arguments, char **words)
{
	static char buffer[4096];
	pthread_t others[16];
	threads = arguments > 1 ? atoi(words[1]) : 1;
	if (threads < 1 || threads > 16)
		return 1;
	pthread_mutex_lock(&lock);
	for (int i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, work, (void *)(intptr_t)i);
	pthread_mutex_unlock(&lock);
	work(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	for (int i = 0; i < object_count; i++)
		printf("%s %zu %llu %llu %d\n", objects[i].site, objects[i].size,
			(unsigned long long)objects[i].born,
			(unsigned long long)(objects[i].died != 0 ? objects[i].died : count),
			objects[i].died != 0);
	return 0;
}
