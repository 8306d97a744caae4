/* SPDX-License-Identifier: MIT */
/*
 * Allocates from the heap of heap.h in THREADS threads, OBJECTS objects each, of which every fourth
 * lives to the end; prints what it has made, as JSON. Each line of standard input makes the threads
 * work once more; without -i they work once.
 *
 * Usage: host-example [-i] THREADS OBJECTS
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"

#define THREADS_MAX 64

static struct {
	uint64_t bytes, objects, live_bytes;
} made;
static uint64_t objects_each;

static void *work(void *number)
{
	char name[32];
	uint64_t bytes = 0, live_bytes = 0;
	snprintf(name, sizeof name, "worker %d", *(int *)number);
	heap_thread_begin(name);
	for (uint64_t i = 0; i < objects_each; i++) {
		const size_t size = 16 + i % 7 * 40;
		heap_enter(i % 2 == 0 ? "parse" : "index", "program.x", 10 + (uint32_t)(i % 2));
		void *object = heap_new(size, i % 4 == 0 ? "node" : "text");
		bytes += size;
		if (i % 4 == 0)
			live_bytes += size;
		else
			heap_delete(object);
	}
	heap_thread_end();
	__atomic_fetch_add(&made.bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&made.objects, objects_each, __ATOMIC_RELAXED);
	__atomic_fetch_add(&made.live_bytes, live_bytes, __ATOMIC_RELAXED);
	return NULL;
}

static void work_once(int threads)
{
	pthread_t ids[THREADS_MAX];
	int numbers[THREADS_MAX];
	for (int i = 0; i < threads; i++) {
		numbers[i] = i;
		if (pthread_create(&ids[i], NULL, work, &numbers[i]) != 0)
			abort();
	}
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("{\"bytes\": %" PRIu64 ", \"objects\": %" PRIu64 ", \"live_bytes\": %" PRIu64 "}\n",
		made.bytes, made.objects, made.live_bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const int interactive = argc > 1 && strcmp(argv[1], "-i") == 0;
	const int threads = argc == 3 + interactive ? atoi(argv[1 + interactive]) : 0;
	if (threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: host-example [-i] THREADS OBJECTS\n");
		return 2;
	}
	objects_each = strtoull(argv[2 + interactive], NULL, 10);
	heap_open();
	if (interactive)
		for (int c; (c = getchar()) != EOF;)
			c == '\n' ? work_once(threads) : (void)0;
	else
		work_once(threads);
	heap_close();
	return 0;
}
