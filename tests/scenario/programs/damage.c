/* SPDX-License-Identifier: MIT */
/*
 * Programs that damage the memory of sampled objects, one way for each first argument. All of them
 * are wrong programs. What is asked is that the recorder never follows what they wrote: either the
 * damage is noticed and the process ends by SIGABRT with the C library's words, or nothing happens
 * at all. A child does the damage; its parent looks at memory that both share, in which the child's
 * own objects do not lie, and prints what became of it. To be run at T = 1, where every small
 * object is a sample.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "check.h"

#define VICTIM_WORDS 1024
#define THREADS 4
#define OBJECTS 64

static uint64_t *victim;

/* What a forged list would lead to: an address outside the heap, with a size word before it that
 * names a slot of the recorder's which there is not. */
static void *target(uint64_t number)
{
	uint64_t *at = victim + 2 + 2 * (number % (VICTIM_WORDS / 2 - 2));
	return at;
}

/* Every other word is such a size word, the words between lead from one to the next. */
static uint64_t victim_word(int i)
{
	return i % 2 == 1 ? (uint64_t)1 << 40 : i + 2 < VICTIM_WORDS ? (uint64_t)&victim[i + 2] : 0;
}

static int victim_is_whole(void)
{
	for (int i = 0; i < VICTIM_WORDS; i++)
		if (victim[i] != victim_word(i))
			return 0;
	return 1;
}

/* ---- objects given back while another thread holds their class ---- */

static void *returning(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	void **objects[OBJECTS];
	for (int round = 0; round < 3000; round++) {
		for (int i = 0; i < OBJECTS; i++)
			CHECK((objects[i] = malloc(200)) != NULL);
		for (int i = 0; i < OBJECTS; i++) {
			free(objects[i]);
			KEEP(objects[i]);
			objects[i][0] = target(next_random(&random));
		}
	}
	return NULL;
}

static void returned(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, returning, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- objects freed by a handler that interrupted the recorder ---- */

static void **pool[OBJECTS];
static volatile int handled;

/* All objects are samples, so that their free never reaches the C library's malloc, which may have
 * been interrupted. */
static void handler(int number)
{
	(void)number;
	for (int i = 0; i < OBJECTS; i++) {
		if (pool[i] == NULL)
			continue;
		free(pool[i]);
		KEEP(pool[i]);
		pool[i][0] = target((uint64_t)handled + (uint64_t)i);
		pool[i] = NULL;
	}
	handled++;
}

static void deferred(void)
{
	const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	CHECK(signal(SIGALRM, handler) != SIG_ERR);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (handled < 2000) {
		sigprocmask(SIG_BLOCK, &blocked, NULL);
		for (int i = 0; i < OBJECTS; i++)
			if (pool[i] == NULL)
				CHECK((pool[i] = malloc(200)) != NULL);
		sigprocmask(SIG_UNBLOCK, &blocked, NULL);
		for (int i = 0; i < 100; i++)
			free(malloc(100));
	}
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

/* ---- damage that is noticed at once, or when the memory is used again ---- */

static void written_when_freed(void)
{
	uint64_t *object = malloc(200);
	CHECK(object != NULL);
	free(object);
	KEEP(object);
	object[0] = 1;
	for (int i = 0; i < 100; i++)
		KEEP(malloc(200));
}

/* One byte behind the usable end. */
static void overflow(void)
{
	for (size_t size = 1; size < 60000; size = size * 3 / 2 + 1) {
		char *object = malloc(size);
		CHECK(object != NULL);
		object[malloc_usable_size(object)] ^= 1;
		KEEP(object);
		if (fork() == 0) {
			free(object);
			_exit(0);
		}
		int status;
		CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	char *object = malloc(50);
	object[malloc_usable_size(object)] ^= 1;
	KEEP(realloc(object, 51));
}

/* To the last usable byte everything may be written, before and after realloc, and memory is used
 * again. */
static void none(void)
{
	uint64_t random = 5;
	char *objects[OBJECTS] = { NULL };
	for (int i = 0; i < 100000; i++) {
		char **object = &objects[next_random(&random) % OBJECTS];
		const size_t size = random_between(&random, 0, 1 + 5000 * (i % 100 == 0));
		if (i % 3 == 0) {
			free(*object);
			*object = NULL;
		} else {
			*object = realloc(*object, size + 1);
			CHECK(*object != NULL);
			memset(*object, i, malloc_usable_size(*object));
		}
	}
}

/* No damage, but memory filled where M_PERTURB says so: by the environment at first, then by
 * mallopt. */
static void perturbed(void)
{
	for (int byte = 0x5a; byte != 0; byte = byte == 0x5a ? 0x33 : 0) {
		unsigned char *object = malloc(1000), *zeroed = calloc(10, 100);
		CHECK(object != NULL && zeroed != NULL);
		for (int i = 0; i < 1000; i++)
			CHECK(object[i] == (byte ^ 0xff) && zeroed[i] == 0);
		free(object);
		KEEP(object);
		for (int i = 16; i < 1000; i++)
			CHECK(object[i] == byte);
		CHECK(mallopt(M_PERTURB, 0x33) == 1);
	}
}

static const struct {
	const char *name;
	void (*damage)(void);
} ways[] = {
	{ "returned", returned },
	{ "deferred", deferred },
	{ "written when freed", written_when_freed },
	{ "overflow", overflow },
	{ "none", none },
	{ "perturbed", perturbed },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	victim = mmap(NULL, VICTIM_WORDS * sizeof *victim, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(victim != MAP_FAILED);
	for (int i = 0; i < VICTIM_WORDS; i++)
		victim[i] = victim_word(i);
	pid_t child = fork();
	CHECK(child >= 0);
	for (size_t i = 0; child == 0 && i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i].name, argv[1]) == 0) {
			ways[i].damage();
			_exit(0);
		}
	CHECK(child > 0);
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	printf("signal %d status %d victim %s\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		WIFEXITED(status) ? WEXITSTATUS(status) : 0,
		victim_is_whole() ? "whole" : "CHANGED");
	return 0;
}
