/* SPDX-License-Identifier: MIT */
/*
 * Children that no libc function made: the clone system call itself, as a fork, and as a vfork that
 * shares memory. No fork handler runs; the recorder must notice all the same and never write to its
 * parent's file. Also clone() of libc with a stack of its own, and _Fork.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static void allocate(int count)
{
	uint64_t seed = 31;
	static void *kept[500];
	for (int i = 0; i < count; i++) {
		free(kept[i % 500]);
		kept[i % 500] = malloc(random_between(&seed, 0, 2000));
		CHECK(kept[i % 500] != NULL);
	}
}

static void wait_for(pid_t pid)
{
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid && status == 0);
}

static int child_main(void *argument)
{
	allocate(*(int *)argument);
	return 0;
}

int main(void)
{
	static char stack[262144] __attribute__((aligned(16)));
	allocate(3000);
	for (int i = 0; i < 10; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
		if (pid == 0) {
			allocate(10000);
			_exit(0);
		}
		wait_for(pid);
		allocate(1000);
		pid = _Fork();
		if (pid == 0) {
			allocate(10000);
			_exit(0);
		}
		wait_for(pid);
		int count = 5000;
		wait_for(clone(child_main, stack + sizeof(stack), SIGCHLD, &count));
		wait_for(clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			&count));
		allocate(1000);
	}
	puts("done");
	return 0;
}
