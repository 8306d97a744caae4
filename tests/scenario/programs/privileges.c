/* SPDX-License-Identifier: MIT */
/*
 * A server's children: after fork one changes its root to an empty directory (the argument) and its
 * user to nobody, one only its user, one its root and then forks again, and all allocate much,
 * before and after. Needs root.
 */
#include <grp.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static void allocate(int count)
{
	uint64_t seed = 21;
	static void *kept[1000];
	for (int i = 0; i < count; i++) {
		free(kept[i % 1000]);
		kept[i % 1000] = malloc(random_between(&seed, 0, 2000));
		CHECK(kept[i % 1000] != NULL);
	}
}

static void become_nobody(void)
{
	CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
	CHECK(setuid(0) == -1);
}

static void child(int number, const char *directory)
{
	if (number != 1)
		CHECK(chroot(directory) == 0 && chdir("/") == 0);
	if (number != 2)
		become_nobody();
	allocate(100000);
	if (number == 2) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			become_nobody();
			allocate(50000);
			_exit(0);
		}
		int status;
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	allocate(5000);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			child(i, arguments[1]);
			_exit(0);
		}
		int status;
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	allocate(5000);
	puts("done");
	return 0;
}
