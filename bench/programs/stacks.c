/* SPDX-License-Identifier: MIT */
/*
 * stacks COUNT...: what a sample with a new stack costs when there are many already. Each object is
 * made by a stack of its own: 20 calls, each of one of two functions, give 1,048,576 stacks, which
 * come in an order that visits all. The COUNTs grow; for each, {"COUNT": ns} of an object and its
 * free from the COUNT before to this one is printed, as one JSON object.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LEVELS 20
#define SIZE 100
/* Odd, so that the products visit all 2^20 stacks. */
#define STEP 2654435761u

static void *volatile object;
static void call(unsigned path, int levels);

__attribute__((noinline)) static void zero(unsigned path, int levels)
{
	call(path, levels);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) static void one(unsigned path, int levels)
{
	call(path, levels);
	__asm__ volatile("");
}

__attribute__((noinline)) static void call(unsigned path, int levels)
{
	if (levels == 0) {
		object = malloc(SIZE);
		free(object);
	} else if (path & 1) {
		one(path >> 1, levels - 1);
	} else {
		zero(path >> 1, levels - 1);
	}
	__asm__ volatile("");
}

static uint64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned made = 0;
	for (int i = 1; i < argc; i++) {
		const unsigned begin = made, end = (unsigned)strtoul(argv[i], NULL, 10);
		const uint64_t began_ns = now_ns();
		for (; made < end; made++)
			call(made * STEP & ((1u << LEVELS) - 1), LEVELS);
		printf("%s\"%u\": %.1f", i == 1 ? "{" : ", ", end,
			(double)(now_ns() - began_ns) / (end - begin));
	}
	puts("}");
	return 0;
}
