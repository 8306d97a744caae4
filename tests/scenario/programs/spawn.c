/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn, posix_spawnp, system and popen: libc starts processes by clone(CLONE_VM |
 * CLONE_VFORK) without calling any function that can be hooked on the way.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

extern char **environ;

static void allocate(void)
{
	for (size_t i = 0; i < 500; i++) {
		void *p = malloc(i * 7);
		KEEP(p);
		free(p);
	}
}

static void spawn_one(const char *program, int by_path)
{
	char *arguments[] = { (char *)program, (char *)"-c", (char *)"exit 3", NULL };
	pid_t pid;
	int error = by_path ? posix_spawnp(&pid, program, NULL, NULL, arguments, environ)
			    : posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	CHECK(error == 0);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(void)
{
	char line[64];
	for (int i = 0; i < 5; i++) {
		allocate();
		spawn_one("/bin/sh", 0);
		spawn_one("sh", 1);
		allocate();
		int status = system("exit 4");
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
		FILE *pipe = popen("echo through a pipe", "r");
		CHECK(pipe && fgets(line, sizeof(line), pipe));
		CHECK(strcmp(line, "through a pipe\n") == 0);
		CHECK(pclose(pipe) == 0);
	}
	puts("done");
	return 0;
}
