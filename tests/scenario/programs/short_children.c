/* SPDX-License-Identifier: MIT */
/*
 * A server that forks for each request: short_children CHILDREN OBJECTS [AT_ONCE [KEPT]]. Each child allocates
 * OBJECTS objects and ends; AT_ONCE of them run together (1), and every KEPTth (0: none) waits until
 * the last has ended. Prints what all processes allocated in these ways, in bytes and objects, and
 * the number of processes; nothing else in them allocates. It takes little of the machine, so that
 * what packs its traces keeps up with it where other programs run too.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static unsigned long long bytes, objects;

static void allocate(unsigned number, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const size_t size = 700 + (number + i) % 600;
		char *object = malloc(size);
		CHECK(object != NULL);
		memset(object, (int)i, size);
		if (i % 4 != 0)
			free(object);
	}
}

static void count(unsigned number, unsigned how_many)
{
	for (unsigned i = 0; i < how_many; i++)
		bytes += 700 + (number + i) % 600;
	objects += how_many;
}

static void say(unsigned children)
{
	char line[128];
	const int length =
		snprintf(line, sizeof line, "%llu %llu %u\n", bytes, objects, children + 1);
	CHECK(write(STDOUT_FILENO, line, (size_t)length) == length);
}

int main(int argument_count, char **arguments)
{
	const unsigned children = argument_count > 1 ? (unsigned)atoi(arguments[1]) : 100;
	const unsigned how_many = argument_count > 2 ? (unsigned)atoi(arguments[2]) : 100;
	const unsigned at_once = argument_count > 3 ? (unsigned)atoi(arguments[3]) : 1;
	const unsigned kept = argument_count > 4 ? (unsigned)atoi(arguments[4]) : 0;
	unsigned running = 0;
	int gate[2];
	CHECK(pipe(gate) == 0);
	CHECK(nice(15) != -1);
	for (unsigned number = 0; number < children; number++) {
		const bool keeps = kept != 0 && number % kept == 0;
		const pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			char byte;
			close(gate[1]);
			allocate(number, how_many);
			if (keeps)
				CHECK(read(gate[0], &byte, 1) == 0);
			_exit(0);
		}
		count(number, how_many);
		running += !keeps;
		for (; running >= at_once && !keeps; running--)
			CHECK(wait(NULL) > 0);
	}
	close(gate[1]);
	while (wait(NULL) > 0)
		;
	say(children);
	return 0;
}
