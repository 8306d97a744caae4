/* SPDX-License-Identifier: MIT */
/*
 * What the small programs of this folder share: a check that ends the program with status 1 and
 * says where, a way to keep the compiler from seeing through a pointer, and a generator of
 * pseudo-random numbers that is the same in every run. Header only, so that each program stays one
 * file; usable from C and C++. The programs check themselves and return 0; the drivers run them
 * with and without the recorder and want the same output and status.
 */
#ifndef BP_SCENARIO_CHECK_H
#define BP_SCENARIO_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			dprintf(2, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

/* The compiler must assume that the memory behind `pointer` is read and written elsewhere. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

/* xorshift; `state` must not be 0. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* A pseudo-random number in [low, high]. */
static inline size_t random_between(uint64_t *state, size_t low, size_t high)
{
	return low + (size_t)(next_random(state) >> 11) % (high - low + 1);
}

#endif
