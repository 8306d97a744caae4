/* SPDX-License-Identifier: MIT */
/*
 * Objects of known pairs of sites, for tests/scenario/test_free_stacks.py: make_1, make_2 and
 * make_3 allocate, end_1, end_2 and end_3 free. For i and j from 1 to 3 there are 10 i + j objects
 * of 100 i + j bytes that make_i allocates and end_j frees. Another thread calls end_3.
 * make_1 also allocates 7 objects of 400 bytes that are never freed, and grow_1 makes 5 objects of
 * 500 bytes larger, which make_2 has allocated. make_3 allocates 4 objects of 700 bytes, which a
 * signal handler frees by end_1. A thread allocates 6 objects of 800 bytes by make_2, and the
 * destructor of its thread-specific data frees them by end_2 while the thread exits.
 * Prints the address of each site.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")

#define MAKE(name)                                               \
	__attribute__((noinline)) static void *name(size_t size) \
	{                                                        \
		void *object = malloc(size);                     \
		KEEP(object);                                    \
		return object;                                   \
	}
MAKE(make_1)
MAKE(make_2)
MAKE(make_3)

#define END(name)                                                \
	__attribute__((noinline)) static void name(void *object) \
	{                                                        \
		free(object);                                    \
		__asm__ volatile("" ::: "memory");               \
	}
END(end_1)
END(end_2)
END(end_3)

__attribute__((noinline)) static void *grow_1(void *object)
{
	void *grown = realloc(object, 600);
	KEEP(grown);
	return grown;
}

static void *(*const makes[])(size_t) = { make_1, make_2, make_3 };
static void (*const ends[])(void *) = { end_1, end_2, end_3 };
static void *handed[128];
static int handed_count;

static void *free_handed(void *unused)
{
	for (int i = 0; i < handed_count; i++)
		ends[2](handed[i]);
	return unused;
}

static void *signalled[4];

static void free_signalled(int number)
{
	(void)number;
	for (int k = 0; k < 4; k++)
		ends[0](signalled[k]);
}

/* raise() returns after the handler, so that free is never called within malloc. */
static void signal_pair(void)
{
	for (int k = 0; k < 4; k++)
		signalled[k] = makes[2](700);
	signal(SIGUSR1, free_signalled);
	raise(SIGUSR1);
}

static pthread_key_t key;

static void free_specific(void *objects)
{
	for (int k = 0; k < 6; k++)
		ends[1](((void **)objects)[k]);
}

static void *exit_with_objects(void *unused)
{
	static void *objects[6];
	for (int k = 0; k < 6; k++)
		objects[k] = makes[1](800);
	pthread_setspecific(key, objects);
	return unused;
}

static int exit_pair(void)
{
	pthread_t thread;
	return pthread_key_create(&key, free_specific) == 0 &&
	       pthread_create(&thread, NULL, exit_with_objects, NULL) == 0 &&
	       pthread_join(thread, NULL) == 0;
}

static void pair(int i, int j)
{
	for (int k = 0; k < 10 * i + j; k++) {
		void *object = makes[i - 1](100u * (unsigned)i + (unsigned)j);
		if (j == 3)
			handed[handed_count++] = object;
		else
			ends[j - 1](object);
	}
}

int main(void)
{
	static void *kept[12];
	pthread_t thread;
	for (int i = 1; i <= 3; i++)
		for (int j = 1; j <= 3; j++)
			pair(i, j);
	for (int k = 0; k < 7; k++)
		kept[k] = makes[0](400);
	for (int k = 7; k < 12; k++)
		kept[k] = grow_1(makes[1](500));
	if (pthread_create(&thread, NULL, free_handed, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	signal_pair();
	if (!exit_pair())
		return 1;
	KEEP(kept[0]);
	for (int i = 0; i < 3; i++)
		printf("make_%d %lu\nend_%d %lu\n", i + 1, (unsigned long)(uintptr_t)makes[i],
			i + 1, (unsigned long)(uintptr_t)ends[i]);
	printf("grow_1 %lu\nmain %lu\nother %lu\n", (unsigned long)(uintptr_t)grow_1,
		(unsigned long)(uintptr_t)main, (unsigned long)(uintptr_t)free_handed);
	printf("pair %lu\n", (unsigned long)(uintptr_t)pair);
	return 0;
}
