/* SPDX-License-Identifier: MIT */
/*
 * Ends of a process at which the counters of its threads are not all final.
 *
 *	allocating	four threads allocate while main returns
 *	gone		threads end by a system call of their own, without destructors, one after the other
 *	waiting		threads that have allocated wait for ever, and main returns: theirs are final
 *
 * Prints the bytes and objects that `gone` and `waiting` asked for in their threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, OBJECTS = 5000, SIZE = 100 };

static volatile int waiting;
static const char *way;

static void make(void)
{
	void *volatile object = malloc(SIZE);
	free(object);
}

static void *work(void *unused)
{
	(void)unused;
	while (strcmp(way, "allocating") == 0)
		make();
	for (int i = 0; i < OBJECTS; i++)
		make();
	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	if (strcmp(way, "gone") == 0)
		syscall(SYS_exit, 0);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "waiting";
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
		while (strcmp(way, "allocating") != 0 && waiting <= i)
			usleep(1000);
		if (strcmp(way, "gone") == 0)
			pthread_join(thread, NULL);
	}
	usleep(20000);
	printf("%d %d\n", THREADS * OBJECTS * SIZE, THREADS * OBJECTS);
	return 0;
}
