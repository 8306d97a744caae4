/* SPDX-License-Identifier: MIT */
/*
 * Cases for the recorder that counts every object, by the argument:
 *
 *   fork     inherited objects are the parent's: the child frees them all and makes objects of its
 *   own handed   threads free what others made failing  requests that fail, with and without an old
 *   object kill     ends by SIGKILL in the middle of its work exec     replaces itself places
 *   prints where in the heap, from its first object on, its objects were (a number of them and
 *            a hash of their places; those that are not in the heap count as absent)
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"

#define COUNT 1000

static void *objects[COUNT];

__attribute__((noinline)) static void *site_parent(size_t size)
{
	void *object = malloc(size);
	CHECK(object != NULL);
	return object;
}

__attribute__((noinline)) static void *site_child(size_t size)
{
	void *object = malloc(size);
	CHECK(object != NULL);
	return object;
}

static void in_child(void)
{
	for (int i = 0; i < COUNT; i++)
		free(objects[i]);
	for (int i = 0; i < 300; i++)
		objects[i] = site_child(50);
	for (int i = 0; i < 200; i++)
		free(objects[i]);
	_exit(0);
}

static void inherited(void)
{
	int status;
	for (int i = 0; i < COUNT; i++)
		objects[i] = site_parent(100);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		in_child();
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (int i = 0; i < COUNT / 2; i++)
		free(objects[i]);
}

static void *free_half(void *argument)
{
	(void)argument;
	for (int i = 0; i < COUNT; i += 2)
		free(objects[i]);
	return NULL;
}

static void handed(void)
{
	pthread_t thread;
	for (int i = 0; i < COUNT; i++)
		objects[i] = site_parent(64);
	CHECK(pthread_create(&thread, NULL, free_half, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* Memory runs out soon. */
__attribute__((noinline)) static void *site_parent_of_none(size_t size)
{
	void *object = malloc(size);
	KEEP(object);
	return object;
}

static void failing(void)
{
	volatile size_t huge = (size_t)1 << 46; /* below what is refused unseen */
	void *none = NULL;
	for (int i = 0; i < 20; i++) {
		objects[i] = site_parent(32);
		errno = 0;
		CHECK(realloc(objects[i], huge) == NULL && errno == ENOMEM);
		errno = 0;
		CHECK(malloc(huge) == NULL && errno == ENOMEM);
		CHECK(posix_memalign(&none, 3, 10) == EINVAL);
	}
	for (int i = 0; i < 10; i++)
		free(objects[i]);
	/* No memory, and too small for the recorder to look at each: they stay among the exact
	 * totals. */
	CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){ 1, 1 }) == 0);
	for (int i = 0; i < 1000000; i++)
		(void)site_parent_of_none(100);
}

static void work_until_killed(void)
{
	for (int i = 0; i < COUNT; i++)
		objects[i] = site_parent(100);
	for (int i = 0; i < 300; i++)
		free(objects[i]);
	raise(SIGKILL);
}

static void print_places(void)
{
	const uintptr_t first = (uintptr_t)site_parent(24);
	uint64_t seed = 9, hash = 0, inside = 0;
	for (int i = 0; i < 20000; i++) {
		const size_t k = random_between(&seed, 0, COUNT - 1);
		free(objects[k]);
		objects[k] = site_parent(random_between(&seed, 0, 3000));
		const uintptr_t place = (uintptr_t)objects[k];
		const bool in_heap = place >= first && place < (uintptr_t)sbrk(0);
		inside += in_heap;
		hash = hash * 31 + (in_heap ? place - first : 7);
	}
	dprintf(1, "%llu %llx\n", (unsigned long long)inside, (unsigned long long)hash);
}

int main(int argument_count, char **arguments)
{
	const char *wish = argument_count > 1 ? arguments[1] : "";
	if (strcmp(wish, "fork") == 0)
		inherited();
	else if (strcmp(wish, "handed") == 0)
		handed();
	else if (strcmp(wish, "failing") == 0)
		failing();
	else if (strcmp(wish, "kill") == 0)
		work_until_killed();
	else if (strcmp(wish, "places") == 0)
		print_places();
	else if (strcmp(wish, "exec") == 0) {
		objects[0] = site_parent(4000);
		execl("/proc/self/exe", arguments[0], "handed", (char *)NULL);
		return 1;
	} else
		return 2;
	return 0;
}
