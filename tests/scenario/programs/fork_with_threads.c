/* SPDX-License-Identifier: MIT */
/*
 * Forks out of one thread while others allocate as fast as they can: whatever lock or guard another
 * thread holds at that moment is held for ever in the child, if anything in the child waits for it.
 * The child allocates, starts threads of its own and ends in three ways.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static volatile int stop;

static void churn(uint64_t seed, int count)
{
	void *slots[32] = { 0 };
	for (int i = 0; i < count && !stop; i++) {
		int slot = i % 32;
		free(slots[slot]);
		slots[slot] = malloc(random_between(&seed, 1, 9000));
		CHECK(slots[slot] != NULL);
	}
	for (int i = 0; i < 32; i++)
		free(slots[i]);
}

static void *busy(void *argument)
{
	churn((uint64_t)(uintptr_t)argument, INT32_MAX);
	return NULL;
}

static void *brief(void *argument)
{
	churn((uint64_t)(uintptr_t)argument, 300);
	return NULL;
}

static void child(int number)
{
	pthread_t thread;
	churn(7, 300);
	CHECK(pthread_create(&thread, NULL, brief, (void *)(uintptr_t)(number + 1)) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	if (number % 3 == 0)
		exit(0);
	if (number % 3 == 1)
		quick_exit(0);
	_exit(0);
}

int main(void)
{
	pthread_t threads[3];
	for (uintptr_t i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, busy, (void *)(i + 11)) == 0);
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			child(i);
		int status;
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("done");
	return 0;
}
