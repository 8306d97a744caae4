/* SPDX-License-Identifier: MIT */
/*
 * A process that executes itself five times, allocating in each image, by another function of the
 * exec family each time; then once with an empty environment (the chain of recorders ends there and
 * the program must not notice); in between an exec that fails, after which the image goes on.
 */
#include <errno.h>
#include <string.h>

#include "check.h"

extern char **environ;

static void allocate(void)
{
	for (size_t i = 1; i < 2000; i++) {
		char *p = malloc(i);
		CHECK(p != NULL);
		memset(p, 1, i);
		if (i % 3)
			free(p);
	}
}

int main(int argument_count, char **arguments)
{
	int step = argument_count > 1 ? atoi(arguments[1]) : 0;
	char next[12];
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	CHECK(length > 0);
	self[length] = '\0';
	char *next_arguments[] = { self, next, NULL };
	char *no_environment[] = { NULL };
	snprintf(next, sizeof(next), "%d", step + 1);
	allocate();
	errno = 0;
	CHECK(execv("/nonexistent/program", next_arguments) == -1 && errno == ENOENT);
	allocate();
	switch (step) {
	case 0:
		execv(self, next_arguments);
		break;
	case 1:
		execve(self, next_arguments, environ);
		break;
	case 2:
		execl(self, self, next, (char *)NULL);
		break;
	case 3:
		execvp(self, next_arguments);
		break;
	case 4:
		execle(self, self, next, (char *)NULL, environ);
		break;
	case 5:
		execve(self, next_arguments, no_environment);
		break;
	default:
		puts("done");
		return 0;
	}
	CHECK(!"exec returned");
}
