/* SPDX-License-Identifier: MIT */
/*
 * Two children of fork, one after the other, and two threads likewise: each allocates once and
 * ends. For what the recorder asks of the kernel at the start and end of each.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "check.h"

static void *allocate(void *argument)
{
	char *object = malloc(100);
	CHECK(object != NULL);
	object[0] = 1;
	KEEP(object);
	free(object);
	return argument;
}

int main(void)
{
	pthread_t thread;
	allocate(NULL);
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			allocate(NULL);
			exit(0);
		}
		CHECK(waitpid(child, NULL, 0) == child);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return 0;
}
