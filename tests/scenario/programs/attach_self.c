/* SPDX-License-Identifier: MIT */
/*
 * A program that opens the recorder while its threads allocate, attaches it to itself, and detaches
 * it, again and again; nothing from outside is needed.
 *
 *   attach_self RECORDER FOLDER CYCLES THREADS
 *
 * Each cycle writes FOLDER/N.bpt, and prints `N BYTES OBJECTS`: what this one thread allocated in
 * between at the site `counted`, by its own count. The other threads hand objects to each other
 * through shared places, so that objects from before are freed within and the other way round, and
 * check what they read from them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES 4096
#define THREADS_MAX 256
#define NOT_QUIET 6u /* a thread has not come out of the recorder */
#define CALLS_MAX 1000

static void *places[PLACES];
static volatile int over;
static uint64_t rounds[THREADS_MAX];

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t some_size(uint64_t random)
{
	return 16 + (random % 64 == 0 ? random % 300000 : random % 700);
}

/* An object that says how large it is, at its begin and its end. */
static void *make(uint64_t random)
{
	const size_t size = some_size(random);
	char *object = NULL;
	switch (random >> 40 & 7) {
	case 0:
		object = calloc(1, size);
		break;
	case 1:
		object = realloc(malloc(24), size);
		break;
	case 2:
		if (posix_memalign((void **)&object, 64, size) != 0)
			abort();
		break;
	case 3:
		object = reallocarray(NULL, size, 1);
		break;
	default:
		object = malloc(size);
	}
	memcpy(object, &size, sizeof size);
	memcpy(object + size - 8, &size, sizeof size);
	return object;
}

static void check_and_free(char *object)
{
	size_t size, again;
	if (object == NULL)
		return;
	memcpy(&size, object, sizeof size);
	memcpy(&again, object + size - 8, sizeof again);
	if (size != again)
		abort();
	free(object);
}

static void *churn(void *argument)
{
	const uint64_t number = (uint64_t)argument;
	uint64_t random = 88172645463325252u + number * 7919;
	while (!over) {
		const uint64_t place = next_random(&random) % PLACES;
		void *mine = make(next_random(&random));
		check_and_free(__atomic_exchange_n(&places[place], mine, __ATOMIC_ACQ_REL));
		rounds[number]++;
	}
	return NULL;
}

/* Starts and ends threads meanwhile. */
static void *short_life(void *argument)
{
	uint64_t random = (uint64_t)argument;
	for (int i = 0; i < 100; i++)
		check_and_free(make(next_random(&random)));
	return NULL;
}

static void *breed(void *argument)
{
	uint64_t random = (uint64_t)argument | 1;
	while (!over) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, short_life, (void *)next_random(&random)) == 0)
			pthread_join(thread, NULL);
	}
	return NULL;
}

__attribute__((noinline)) static void *counted(size_t size)
{
	return malloc(size);
}

static void count_cycle(
	const char *folder, int cycle, uint32_t (*attach)(const char *), uint32_t (*detach)(void))
{
	char path[4096];
	uint64_t bytes = 0, objects = 0, random = 12345 + (uint64_t)cycle;
	snprintf(path, sizeof path, "%s/settings", folder);
	FILE *settings = fopen(path, "w");
	fprintf(settings, "BYTEPOLL_OUTPUT=%s/%d.bpt\nBYTEPOLL_INTERVAL=4096\n", folder, cycle);
	fclose(settings);
	uint32_t attached = NOT_QUIET, detached = NOT_QUIET;
	for (int i = 0; i < CALLS_MAX && attached == NOT_QUIET; i++)
		attached = attach(path);
	for (int i = 0; i < 400; i++) {
		const size_t size = next_random(&random) % 3000;
		free(counted(size));
		bytes += size;
		objects++;
	}
	for (int i = 0; i < CALLS_MAX && detached == NOT_QUIET; i++)
		detached = detach();
	printf("%d %lu %lu %u %u\n", cycle, bytes, objects, attached, detached);
}

static unsigned count_lines(const char *path, const char *word, unsigned long *ret_number)
{
	char line[1024];
	unsigned count = 0;
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		count++;
		if (strncmp(line, word, strlen(word)) == 0)
			*ret_number = strtoul(line + strlen(word), NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return count;
}

/* What the process holds now. */
static void print_left(void)
{
	unsigned long resident = 0, unused = 0;
	const unsigned mappings = count_lines("/proc/self/maps", "-", &unused);
	const int descriptor = dup(0);
	(void)count_lines("/proc/self/status", "VmRSS:", &resident);
	fprintf(stderr, "mappings %u descriptors %d resident_kib %lu\n", mappings, descriptor,
		resident);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	const int cycles = atoi(argv[3]), count = atoi(argv[4]);
	pthread_t threads[THREADS_MAX];
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, i % 8 == 7 ? breed : churn,
			    (void *)(uintptr_t)i) != 0)
			return 3;
	usleep(20000);
	void *recorder = dlopen(argv[1], RTLD_NOW);
	if (recorder == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 4;
	}
	uint32_t (*attach)(const char *) =
		(uint32_t(*)(const char *))dlsym(recorder, "bytepoll_attach");
	uint32_t (*detach)(void) = (uint32_t(*)(void))dlsym(recorder, "bytepoll_detach");
	if (attach == NULL || detach == NULL)
		return 5;
	for (int cycle = 0; cycle < cycles; cycle++)
		count_cycle(argv[2], cycle, attach, detach);
	over = 1;
	uint64_t sum = 0;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += rounds[i];
	}
	fprintf(stderr, "rounds %lu\n", sum);
	print_left();
	return 0;
}
