/* SPDX-License-Identifier: MIT */
/*
 * Many short threads, or many short forks, that each allocate the same: if their sampling streams
 * were related (seeded from recycled addresses, or inherited over fork), the counts of samples
 * would not scatter as independent draws do. Arguments: `threads` or `forks`, how many, objects in
 * each, size of an object. Main allocates once before, so that it has the first ordinal.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"

static long objects, size;

__attribute__((noinline)) static void site_stream(void)
{
	for (long i = 0; i < objects; i++) {
		void *p = malloc((size_t)size);
		KEEP(p);
		free(p);
	}
}

static void *thread_main(void *argument)
{
	site_stream();
	return argument;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 5);
	long streams = atol(arguments[2]);
	objects = atol(arguments[3]);
	size = atol(arguments[4]);
	free(malloc(1));
	for (long i = 0; i < streams; i++) {
		if (!strcmp(arguments[1], "threads")) {
			pthread_t thread;
			CHECK(pthread_create(&thread, NULL, thread_main, NULL) == 0);
			CHECK(pthread_join(thread, NULL) == 0);
			continue;
		}
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			site_stream();
			_exit(0);
		}
		int status;
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return 0;
}
