/* SPDX-License-Identifier: MIT */
/* Threads that allocate, and a fork. An argument is a program, which is started as a child and
 * below a shell, and in the end takes the place of this one. The exit status is 3. Built for two C
 * libraries. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char **environ;

static void *allocate(void *nothing)
{
	(void)nothing;
	for (size_t i = 1; i <= 3000; i++) {
		char *object = malloc(i);
		memset(object, 1, i);
		object = realloc(object, 2 * i);
		CHECK(object[i - 1] == 1);
		free(object);
		char *zeros = calloc(i, 2);
		CHECK(zeros[2 * i - 1] == 0);
		free(zeros);
		void *aligned;
		CHECK(posix_memalign(&aligned, 64, i) == 0);
		free(aligned);
	}
	return NULL;
}

static void tell(const char *what, int status)
{
	printf("%s %d\n", what, WEXITSTATUS(status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int status = 0;
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	pid_t child = fork();
	if (child == 0) {
		(void)allocate(NULL);
		_exit(5);
	}
	CHECK(waitpid(child, &status, 0) == child);
	tell("fork", status);
	if (argc < 2)
		return 3;
	char *arguments[] = { argv[1], NULL };
	CHECK(posix_spawn(&child, argv[1], NULL, NULL, arguments, environ) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	tell("spawn", status);
	tell("system", system(argv[1]));
	execv(argv[1], arguments);
	return 1;
}
