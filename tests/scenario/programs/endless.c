/* SPDX-License-Identifier: MIT */
/*
 * Allocates and frees in three threads until it is killed, and keeps count of what it asked for in
 * a shared file (the argument): per thread the objects and bytes requested so far, written after
 * each request, so that at the kill at most one request a thread is missing from it. Waits for the
 * start of all threads, then writes one line, so that one can see that it runs. Every 5 ms a short
 * thread comes and goes, and a fork if the second argument is `forks`.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

#define THREADS 3

struct counted {
	volatile uint64_t objects, bytes;
};

static struct counted *counted; /* one for each thread, the last for the main thread */

static void *churn(void *argument)
{
	struct counted *mine = argument;
	uint64_t seed = (uint64_t)(mine - counted) + 1;
	void *kept[64] = { 0 };
	for (int i = 0;; i = (i + 1) % 64) {
		size_t size = random_between(&seed, 0, i ? 500 : 40000);
		free(kept[i]);
		kept[i] = malloc(size);
		KEEP(kept[i]);
		mine->objects++;
		mine->bytes += size;
	}
	return NULL;
}

static void *brief(void *argument)
{
	free(malloc(3000));
	return argument;
}

static void brief_fork(void)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		free(malloc(2000));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 3);
	int descriptor = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(descriptor >= 0 && ftruncate(descriptor, 4096) == 0);
	counted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	CHECK(counted != MAP_FAILED);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, &counted[i]) == 0);
	CHECK(write(1, "running\n", 8) == 8);
	for (;;) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, brief, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		if (!strcmp(arguments[2], "forks"))
			brief_fork();
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
}
