/* SPDX-License-Identifier: MIT */
/*
 * What daemons do: closes every descriptor, opens a file of its own (the argument, which gets the
 * lowest numbers) and writes to it while allocating. If the recorder kept a descriptor, or wrote to
 * a number it once had, the file would show it. Done twice, by close() in a loop and by
 * close_range.
 */
#include <fcntl.h>
#include <string.h>

#include "check.h"

static void allocate(void)
{
	uint64_t seed = 4;
	for (int i = 0; i < 300; i++) {
		void *p = malloc(random_between(&seed, 0, 3000));
		KEEP(p);
		if (i % 4)
			free(p);
	}
}

static void write_file(const char *path, int flags)
{
	int first = open(path, O_WRONLY | O_CREAT | flags, 0600), second = dup(first);
	if (first != 0 || second != 1)
		_exit(2);
	char line[64];
	for (int i = 0; i < 200; i++) {
		int bytes = snprintf(line, sizeof(line), "line %d of the program's own file\n", i);
		if (write(i % 2, line, (size_t)bytes) != bytes)
			_exit(3);
		allocate();
	}
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	allocate();
	for (int i = 0; i < 4096; i++)
		close(i);
	write_file(arguments[1], O_TRUNC);
	if (close_range(0, ~0u, 0) != 0)
		_exit(4);
	write_file(arguments[1], O_APPEND);
	return 0;
}
