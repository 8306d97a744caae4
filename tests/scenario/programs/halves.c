/* SPDX-License-Identifier: MIT */
/*
 * OBJECTS objects of 6 to 40 KiB, by a sequence of its own, of which some are touched whole, some
 * in part and some not at all. What of them is not resident is counted by /proc/self/pagemap, as
 * the truth, and printed by function: "touched N", "untouched N", and when ("ready N"). Then it
 * waits for the milliseconds of its argument.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS 2400
#define PAGE 4096u

static struct {
	uint8_t *start;
	size_t bytes;
} objects[OBJECTS];

__attribute__((noinline)) static uint8_t *make_touched(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}

__attribute__((noinline)) static uint8_t *make_untouched(size_t bytes, size_t part)
{
	return memset(malloc(bytes), 1, bytes * part / 4);
}

static uint64_t absent(int pagemap, const uint8_t *start, size_t bytes)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < bytes;) {
		const uintptr_t address = (uintptr_t)start + at;
		size_t here = PAGE - address % PAGE;
		uint64_t entry = 0;
		here = here < bytes - at ? here : bytes - at;
		if (pread(pagemap, &entry, 8, (off_t)(address / PAGE * 8)) != 8)
			exit(1);
		sum += (entry >> 63) != 0 ? 0 : here;
		at += here;
	}
	return sum;
}

int main(int count, char **words)
{
	uint32_t state = 7;
	uint64_t sums[2] = { 0 };
	if (count < 2)
		return 1;
	for (int i = 0; i < OBJECTS; i++) {
		state = state * 1664525u + 1013904223u;
		objects[i].bytes = 6144 + (state >> 8) % 34816;
		objects[i].start = i % 2 == 0 ? make_touched(objects[i].bytes)
					      : make_untouched(objects[i].bytes, i / 2 % 4);
	}
	const int pagemap = open("/proc/self/pagemap", O_RDONLY);
	for (int i = 0; i < OBJECTS; i++)
		sums[i % 2] += absent(pagemap, objects[i].start, objects[i].bytes);
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("touched %llu\nuntouched %llu\nready %llu\n", (unsigned long long)sums[0],
		(unsigned long long)sums[1],
		(unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec);
	fflush(stdout);
	usleep((useconds_t)atoi(words[1]) * 1000);
	return 0;
}
