/* SPDX-License-Identifier: MIT */
/*
 * A server with a thread for each request, without a network: `requests THREADS`. Each thread makes
 * and frees five objects and ends; two spawners start them one behind the other, each waiting for
 * its own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SPAWNERS 2
#define OBJECTS 5

static void *serve(void *argument)
{
	for (int i = 0; i < OBJECTS; i++) {
		void *object = malloc(200);
		__asm__ volatile("" : "+r"(object) : : "memory");
		free(object);
	}
	return argument;
}

static void *spawn(void *argument)
{
	pthread_t thread;
	for (uintptr_t i = 0; i < (uintptr_t)argument; i++)
		if (pthread_create(&thread, NULL, serve, NULL) != 0 ||
			pthread_join(thread, NULL) != 0)
			abort();
	return NULL;
}

int main(int argc, char **argv)
{
	const uintptr_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	pthread_t spawners[SPAWNERS];
	for (int i = 0; i < SPAWNERS; i++)
		if (pthread_create(&spawners[i], NULL, spawn, (void *)(threads / SPAWNERS)) != 0)
			return 1;
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(spawners[i], NULL);
	return 0;
}
