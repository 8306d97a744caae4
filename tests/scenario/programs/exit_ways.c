/* SPDX-License-Identifier: MIT */
/*
 * Every road out of a process, chosen by the argument, with threads running and allocations on the
 * way out. The driver compares the status with the unprofiled run's.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"

static void use_memory(void)
{
	for (size_t i = 0; i < 300; i++) {
		char *p = calloc(1, i * 11);
		CHECK(p != NULL);
		KEEP(p);
		if (i % 2)
			free(p);
	}
}

static void *busy(void *argument)
{
	while (!argument)
		use_memory();
	return NULL;
}

static void at_way_out(void)
{
	use_memory();
}

static void leave(const char *way, char **arguments)
{
	if (!strcmp(way, "exit"))
		exit(17);
	if (!strcmp(way, "_exit"))
		_exit(18);
	if (!strcmp(way, "_Exit"))
		_Exit(19);
	if (!strcmp(way, "quick_exit"))
		quick_exit(20);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "exec")) {
		char *next[] = { arguments[0], (char *)"return", NULL };
		execv("/proc/self/exe", next);
	}
	if (!strcmp(way, "term"))
		raise(SIGTERM);
	if (!strcmp(way, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(way, "fault"))
		*(volatile int *)16 = 1;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	CHECK(atexit(at_way_out) == 0 && at_quick_exit(at_way_out) == 0);
	use_memory();
	if (!strcmp(arguments[1], "pthread_exit"))
		pthread_exit(NULL);
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
	use_memory();
	leave(arguments[1], arguments);
	return 21;
}
