/* SPDX-License-Identifier: MIT */
/*
 * Much to fold: churn THREADS OBJECTS [pause]. Each thread makes OBJECTS objects of few sizes, in
 * three phases of which the second holds most, puts them into common boxes and frees whatever was
 * there, its own or another thread's; some are kept to the end. With `pause` a line is printed
 * after the first round of threads, and a line is waited for.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOXES 4096

static void *boxes[BOXES];
static long objects;

static void *make(uint32_t draw)
{
	static const size_t sizes[] = { 40, 100, 100, 400, 1000, 5000 };
	const size_t size = sizes[draw % 6];
	if (draw % 13 == 0)
		return calloc(1, size);
	if (draw % 17 == 0)
		return realloc(malloc(size / 2), size);
	if (draw % 19 == 0)
		return aligned_alloc(64, (size + 63) / 64 * 64);
	return malloc(size);
}

static void *work(void *argument)
{
	uint32_t state = 77777u * (uint32_t)(uintptr_t)argument + 1;
	for (long i = 0; i < objects; i++) {
		const long phase = 3 * i / objects;
		state = state * 1103515245u + 12345u;
		const uint32_t box = state >> 8 & (phase == 1 ? BOXES - 1 : BOXES / 8 - 1);
		void *object = make(state >> 9);
		if (object == NULL)
			abort();
		memset(object, 1, 16);
		free(__atomic_exchange_n(&boxes[box], object, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static void run_threads(long threads, long first)
{
	pthread_t handles[16];
	for (long i = 0; i < threads; i++)
		pthread_create(&handles[i], NULL, work, (void *)(intptr_t)(first + i));
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
}

int main(int count, char **arguments)
{
	if (count < 3)
		return 2;
	const long threads = strtol(arguments[1], NULL, 10);
	objects = strtol(arguments[2], NULL, 10);
	if (threads < 1 || threads > 16)
		return 2;
	run_threads(threads, 1);
	if (count > 3) {
		puts("half");
		fflush(stdout);
		getchar();
	}
	run_threads(threads, threads + 1);
	for (int i = 0; i < BOXES / 2; i++)
		free(boxes[i]);
	return 0;
}
