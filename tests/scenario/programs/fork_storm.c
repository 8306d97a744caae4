/* SPDX-License-Identifier: MIT */
/*
 * Forks of forks, each allocating before and after, with objects that cross the fork: a child frees
 * and reallocates what it inherited, and fork handlers allocate. Every child's status is checked,
 * so a child that dies in the recorder is seen.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

#define OBJECTS 200
static char *inherited[OBJECTS];
static void *by_handler[3];

static void before_fork(void)
{
	by_handler[0] = malloc(300);
}

static void in_parent(void)
{
	by_handler[1] = malloc(400);
	free(by_handler[0]);
	free(by_handler[1]);
}

static void in_child(void)
{
	by_handler[2] = calloc(1, 500);
	free(by_handler[0]);
	free(by_handler[2]);
}

static void allocate(uint64_t seed, int count)
{
	for (int i = 0; i < count; i++) {
		size_t size = random_between(&seed, 0, 3000);
		char *p = malloc(size);
		CHECK(p != NULL);
		memset(p, i, size);
		free(p);
	}
}

static int child(int depth, int number)
{
	allocate((uint64_t)number + 1, 500);
	for (int i = number % 2; i < OBJECTS; i += 2) {
		CHECK(inherited[i][0] == (char)i);
		inherited[i] = realloc(inherited[i], 700);
		CHECK(inherited[i] && inherited[i][0] == (char)i);
		free(inherited[i]);
		inherited[i] = malloc(40);
		inherited[i][0] = (char)i;
	}
	if (depth > 0)
		for (int i = 0; i < 2; i++) {
			pid_t pid = fork();
			CHECK(pid >= 0);
			if (pid == 0)
				_exit(child(depth - 1, number * 2 + i));
			int status;
			CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		}
	return 0;
}

int main(void)
{
	CHECK(pthread_atfork(before_fork, in_parent, in_child) == 0);
	for (int i = 0; i < OBJECTS; i++) {
		inherited[i] = malloc((size_t)i * 20 + 1);
		inherited[i][0] = (char)i;
	}
	for (int i = 0; i < 12; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			int status = child(i % 3, i);
			if (i % 2)
				exit(status);
			_exit(status);
		}
	}
	int status, children = 0;
	while (wait(&status) > 0) {
		CHECK(status == 0);
		children++;
	}
	CHECK(children == 12);
	for (int i = 0; i < OBJECTS; i++) {
		CHECK(inherited[i][0] == (char)i);
		free(inherited[i]);
	}
	puts("done");
	return 0;
}
