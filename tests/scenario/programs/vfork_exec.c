/* SPDX-License-Identifier: MIT */
/*
 * vfork: the child runs in the parent's memory and on its stack until it executes or leaves. What
 * the recorder does for a child (new counters, a file of its own) would be done to the parent here.
 * Exec, a failing exec, and _exit; allocations of the parent before and after are checked.
 */
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static char *kept[300];

static void allocate(int round)
{
	for (int i = 0; i < 300; i++) {
		free(kept[i]);
		kept[i] = malloc((size_t)(i * round) % 5000 + 1);
		CHECK(kept[i] != NULL);
		kept[i][0] = (char)round;
	}
}

static int spawn(const char *program)
{
	char *arguments[] = { (char *)program, NULL };
	pid_t pid = vfork();
	if (pid == 0) {
		if (program)
			execv(program, arguments);
		_exit(program ? 77 : 55);
	}
	CHECK(pid > 0);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	for (int round = 1; round <= 10; round++) {
		allocate(round);
		CHECK(spawn("/bin/true") == 0);
		CHECK(spawn("/bin/false") == 1);
		CHECK(spawn("/nonexistent/program") == 77);
		CHECK(spawn(NULL) == 55);
		for (int i = 0; i < 300; i++)
			CHECK(kept[i][0] == (char)round);
	}
	puts("done");
	return 0;
}
