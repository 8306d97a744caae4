/* SPDX-License-Identifier: MIT */
/*
 * Memory of known kinds, held for half a second (or as long as the last argument says, in
 * milliseconds):
 *
 *	resident MALLOCED UNTOUCHED MAPPED STACK FILE [MILLISECONDS]
 *
 * MiB of objects of 64 KiB that are written to, MiB of one object that is not, MiB of anonymous
 * memory mapped without malloc, MiB of the main stack, and a file that is mapped and read.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (64u << 10)
#define MIB (1u << 20)

static volatile long sum;

__attribute__((noinline)) static long deeper(long frames)
{
	volatile char frame[4096];
	memset((void *)frame, (int)frames, sizeof frame);
	return frames > 0 ? deeper(frames - 1) + frame[17] : frame[1];
}

static void map_file(const char *path)
{
	struct stat status;
	int file = open(path, O_RDONLY);
	if (file < 0 || fstat(file, &status) != 0)
		exit(3);
	char *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED)
		exit(3);
	for (off_t at = 0; at < status.st_size; at += 4096)
		sum += mapped[at];
}

int main(int count, char **arguments)
{
	if (count < 6)
		return 2;
	size_t blocks = (size_t)atol(arguments[1]) * (MIB / BLOCK);
	for (size_t i = 0; i < blocks; i++)
		memset(malloc(BLOCK), 1, BLOCK);
	if (atol(arguments[2]) > 0)
		*(char *)malloc((size_t)atol(arguments[2]) * MIB) = 1;
	size_t mapped = (size_t)atol(arguments[3]) * MIB;
	if (mapped > 0)
		memset(mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0),
			1, mapped);
	sum += deeper(atol(arguments[4]) * (MIB / 4096));
	map_file(arguments[5]);
	usleep((useconds_t)(count > 6 ? atol(arguments[6]) : 500) * 1000);
	return 0;
}
