/* SPDX-License-Identifier: MIT */
/*
 * A program that makes a large trace: `churn OBJECTS THREADS`. Each thread allocates OBJECTS /
 * THREADS objects through a few thousand different call paths, of sizes from 16 bytes to 16 KiB,
 * mostly small ones, and frees them as programs do: half within some dozens of allocations, most of
 * the others within some ten thousand, one in a hundred never. What is drawn depends on nothing but
 * the number of the thread, so that every run asks for the same.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SHORT_LIVED 64u
#define LONG_LIVED 16384u

static uint64_t objects_each;

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* Four ways down at each of six levels: 4096 paths. */
#define WAY(name) \
	__attribute__((noinline)) static void *name(uint64_t path, int levels, size_t bytes)
WAY(left);
WAY(right);
WAY(up);
WAY(down);

static inline void *onward(uint64_t path, int levels, size_t bytes)
{
	void *(*const ways[])(uint64_t, int, size_t) = { left, right, up, down };
	return levels == 0 ? malloc(bytes) : ways[path & 3](path >> 2, levels - 1, bytes);
}

#define WALK(name)                                                \
	WAY(name)                                                 \
	{                                                         \
		void *object = onward(path, levels, bytes);       \
		__asm__ volatile("" : "+r"(object) : : "memory"); \
		return object;                                    \
	}
WALK(left)
WALK(right)
WALK(up)
WALK(down)

static void *churn(void *argument)
{
	uint64_t state = 0x9E3779B97F4A7C15u * (1 + (uint64_t)(uintptr_t)argument);
	void **near = calloc(SHORT_LIVED, sizeof *near), **far = calloc(LONG_LIVED, sizeof *far);
	for (uint64_t i = 0; i < objects_each; i++) {
		const uint64_t random = draw(&state), bits = random >> 40;
		/* Paths are not equally frequent: the and of two draws has few bits set. */
		const uint64_t path = random & random >> 12;
		const unsigned scale = 4 + (unsigned)__builtin_ctzll(bits | 1u << 10);
		const size_t bytes =
			((size_t)1 << scale) + (bits >> 12 & 7) * ((size_t)1 << scale) / 8;
		void *object = onward(path, 2 + (int)(random >> 36 & 3) + (int)(path & 1), bytes);
		const uint64_t fate = random >> 56;
		if (fate < 3)
			continue;
		void **place = fate < 128 ? &near[(bits >> 16) % SHORT_LIVED]
					  : &far[(random >> 20) % LONG_LIVED];
		free(*place);
		*place = object;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const uint64_t objects = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	const unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	pthread_t ids[64];
	if (threads < 1 || threads > 64)
		return 2;
	objects_each = objects / threads;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, churn, (void *)(uintptr_t)i) != 0)
			return 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
