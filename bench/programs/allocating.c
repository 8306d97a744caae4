/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate without pause, until the program is killed: what other programs attach to.
 *
 *   allocating THREADS
 *
 * With 0 the main thread allocates itself. Another thread prints every tenth of a second how many
 * objects were made, by which one sees that the program goes on.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic uint64_t made;

static void *allocate(void *argument)
{
	void *kept[64] = { NULL };
	uint64_t random = 88172645463325252u + (uint64_t)(uintptr_t)argument;
	for (;;) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		void **place = &kept[random % 64];
		free(*place);
		*place = malloc(16 + random % 3000);
		atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *say(void *argument)
{
	for (;;) {
		usleep(100000);
		printf("%lu\n", (unsigned long)atomic_load(&made));
		fflush(stdout);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc != 2 || pthread_create(&thread, NULL, say, NULL) != 0)
		return 2;
	for (long i = 0; i < strtol(argv[1], NULL, 10); i++)
		if (pthread_create(&thread, NULL, allocate, (void *)(uintptr_t)i) != 0)
			return 3;
	if (strtol(argv[1], NULL, 10) == 0)
		allocate(NULL);
	pthread_join(thread, NULL);
	return 0;
}
