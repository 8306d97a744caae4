/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate in a known order while somebody changes how they are sampled. The k-th
 * object of every thread has the size of entry k mod PERIOD of one fixed pattern, and comes from
 * the site to which sizes of its range belong, so that a reader who knows a thread's counters at a
 * change knows how many bytes and objects each site made before it and after. test_control.py makes
 * the same pattern.
 *
 * Arguments: a file of 4096 bytes or more, and the number of threads. The first word of the file
 * says stop (not 0); word i + 1 is what thread i made so far, at the end exactly; word 100 how many
 * objects each may make by now (0: no limit). Nothing else is printed than one line, when all
 * threads run. A thread makes nothing else; its name is maker<i>.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define SITE __attribute__((noinline))
#define PERIOD 1000
#define THREADS_MAX 64
#define KEPT 64
#define GRANTED 100 /* the word */
#define PAUSE 400 /* turns of an empty loop after each object: readers of the trace must keep up */

static uint32_t pattern[PERIOD];
static volatile uint64_t *words;

static void make_pattern(void)
{
	uint64_t state = 12345;
	for (int i = 0; i < PERIOD; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		uint32_t random = (uint32_t)(state >> 33);
		if (i % 4 == 3)
			pattern[i] = 8000 + random % 70000;
		else if (i % 16 >= 12)
			pattern[i] = 300 + random % 2700;
		else
			pattern[i] = 16 + random % 185;
	}
}

SITE static void *site_small(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

SITE static void *site_medium(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

SITE static void *site_large(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

static void *make(size_t size)
{
	if (size < 300)
		return site_small(size);
	if (size < 4000)
		return site_medium(size);
	return site_large(size);
}

static void *thread_main(void *argument)
{
	const intptr_t number = (intptr_t)argument;
	char name[16];
	void *kept[KEPT] = { 0 };
	uint64_t made = 0;
	snprintf(name, sizeof name, "maker%d", (int)number);
	CHECK(pthread_setname_np(pthread_self(), name) == 0);
	while (words[0] == 0) {
		if (words[GRANTED] != 0 && made >= words[GRANTED]) {
			sched_yield();
			continue;
		}
		void **place = &kept[made % KEPT];
		free(*place);
		*place = make(pattern[made % PERIOD]);
		CHECK(*place != NULL);
		words[number + 1] = ++made;
		for (int i = 0; i < PAUSE; i++)
			KEEP(kept);
	}
	return NULL;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 3);
	const int count = atoi(arguments[2]);
	CHECK(count >= 1 && count <= THREADS_MAX);
	int descriptor = open(arguments[1], O_RDWR);
	CHECK(descriptor >= 0);
	words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	CHECK(words != MAP_FAILED);
	make_pattern();
	pthread_t threads[THREADS_MAX];
	for (intptr_t i = 0; i < count; i++)
		CHECK(pthread_create(&threads[i], NULL, thread_main, (void *)i) == 0);
	CHECK(write(1, "running\n", 8) == 8);
	for (int i = 0; i < count; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}
