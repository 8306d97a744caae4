/* SPDX-License-Identifier: MIT */
/*
 * Children that share their parent's memory allocate before they execute or leave (no standard
 * allows it, shells and language runtimes do it): by vfork, and by clone with and without a stack
 * of its own. What they leave behind is the parent's to free, and its contents are checked.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

#define OBJECTS 200

static char *kept[OBJECTS];

static void allocate(int round)
{
	for (int i = 0; i < OBJECTS; i++) {
		const size_t size = (size_t)(i * round * 37) % 90000 + 1;
		kept[i] = realloc(kept[i], size);
		CHECK(kept[i] != NULL);
		kept[i][0] = kept[i][size - 1] = (char)round;
		free(malloc(size));
	}
}

static int in_child(void *argument)
{
	char *arguments[] = { (char *)"true", NULL };
	allocate(*(int *)argument);
	if (*(int *)argument % 2 == 0)
		execv("/bin/true", arguments);
	_exit(0);
}

static void check_child(pid_t pid, int round)
{
	int status = 1;
	CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid && status == 0);
	for (int i = 0; i < OBJECTS; i++)
		CHECK(kept[i][0] == (char)round);
}

int main(void)
{
	static char stack[262144] __attribute__((aligned(16)));
	for (int round = 1; round <= 20; round++) {
		int argument = round;
		pid_t pid = vfork();
		if (pid == 0)
			in_child(&argument);
		check_child(pid, round);
		check_child(clone(in_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
				    &argument),
			round);
		allocate(round + 1);
	}
	puts("done");
	return 0;
}
