/* SPDX-License-Identifier: MIT */
/*
 * deep DEPTH PATHS ROUNDS [cold]: what one sample and the free of one cost, by stack depth.
 *
 * Below `main` lie DEPTH calls through 60 functions in 30 pairs of different frame sizes; which of
 * a pair is called is a bit of the path. In each round every path allocates OBJECTS objects of 64
 * bytes at its end, then all are freed from `main`. PATHS 0: a new random path each time, so that
 * nearly every stack is new. The two phases are timed apart; with the sampler asleep (a huge
 * interval) the same program gives the baseline.
 *
 * `cold`: instead, before each single malloc and before each free 24 MiB are read, so that nothing
 * of the recorder is left in the near caches.
 *
 * Prints {"allocate_ns": ..., "free_ns": ...}, each per object: the lower quartile of slices of
 * ROUNDS_IN_SLICE rounds (cold: the median of single objects). Not a lower percentile, because
 * slices with few samples would be picked out: at the quartile that shift is below 2 %.
 */
#include <stdbool.h>
#include <string.h>

#include "slices.h"

#define OBJECTS 64
#define PATHS_MAX 64
#define SIZE 64
#define ROUNDS_IN_SLICE 16
#define SWEEP_BYTES ((size_t)24 << 20)

static char *objects[PATHS_MAX * OBJECTS];
static unsigned objects_wanted;

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
	uint64_t x = random_state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return random_state = x;
}

__attribute__((noinline)) static void leaf(char **into)
{
	for (unsigned i = 0; i < objects_wanted; i++) {
		into[i] = malloc(SIZE);
		*(volatile char *)into[i] = 1;
	}
}

typedef void level(unsigned depth, uint64_t path, char **into);
static level *const levels[60];

/* Each function keeps `bytes` of its own on the stack, so that the frames differ. */
#define LEVEL(name, bytes)                                                                     \
	__attribute__((noinline)) static void name(unsigned depth, uint64_t path, char **into) \
	{                                                                                      \
		volatile char frame[bytes];                                                    \
		frame[0] = 1;                                                                  \
		if (depth == 0)                                                                \
			leaf(into);                                                            \
		else                                                                           \
			levels[depth % 30 * 2 + (path & 1)](                                   \
				depth - 1, path >> 1 | path << 63, into);                      \
		frame[bytes - 1] = frame[0];                                                   \
	}
#define PAIR(n) LEVEL(left##n, 8 + 16 * n) LEVEL(right##n, 24 + 8 * n)
/* clang-format off */
#define EACH_PAIR(X)                                                                              \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)     \
	X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)
EACH_PAIR(PAIR)
/* clang-format on */
#define BOTH(n) left##n, right##n,
static level *const levels[60] = { EACH_PAIR(BOTH) };

static void sweep(void)
{
	static volatile char *memory;
	static volatile unsigned long sum;
	if (memory == NULL) {
		memory = malloc(SWEEP_BYTES);
		memset((char *)memory, 1, SWEEP_BYTES);
	}
	for (size_t at = 0; at < SWEEP_BYTES; at += 64)
		sum = sum + (unsigned long)memory[at];
}

static uint64_t wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_cold(unsigned depth, unsigned rounds, struct slices *allocate, struct slices *frees)
{
	objects_wanted = 1;
	for (unsigned i = 0; i < rounds; i++) {
		sweep();
		uint64_t start = wall_ns();
		levels[0](depth, 0, objects);
		slices_add(allocate, wall_ns() - start, 1);
		sweep();
		start = wall_ns();
		free(objects[0]);
		slices_add(frees, wall_ns() - start, 1);
	}
}

static void run_warm(unsigned depth, unsigned paths, unsigned rounds, struct slices *allocate,
	struct slices *frees)
{
	const bool fresh = paths == 0;
	uint64_t bits[PATHS_MAX];
	paths = fresh ? PATHS_MAX : paths;
	objects_wanted = fresh ? 8 : OBJECTS;
	for (unsigned path = 0; path < paths; path++)
		bits[path] = draw();
	const uint64_t objects_in_slice = (uint64_t)ROUNDS_IN_SLICE * paths * objects_wanted;
	uint64_t allocate_ns = 0, free_ns = 0;
	for (unsigned i = 1; i <= rounds; i++) {
		uint64_t start = thread_time_ns();
		for (unsigned path = 0; path < paths; path++)
			levels[0](depth, fresh ? draw() : bits[path],
				objects + path * objects_wanted);
		uint64_t middle = thread_time_ns();
		for (unsigned each = 0; each < paths * objects_wanted; each++)
			free(objects[each]);
		free_ns += thread_time_ns() - middle;
		allocate_ns += middle - start;
		if (i % ROUNDS_IN_SLICE != 0)
			continue;
		slices_add(frees, free_ns, objects_in_slice);
		slices_add(allocate, allocate_ns, objects_in_slice);
		allocate_ns = free_ns = 0;
	}
}

int main(int count, char **words)
{
	static struct slices allocate, frees;
	if (count < 4) {
		fprintf(stderr, "usage: deep DEPTH PATHS ROUNDS [cold]\n");
		return 2;
	}
	unsigned depth = (unsigned)strtoul(words[1], NULL, 10);
	unsigned paths = (unsigned)strtoul(words[2], NULL, 10);
	unsigned rounds = (unsigned)strtoul(words[3], NULL, 10);
	const bool cold = count > 4 && strcmp(words[4], "cold") == 0;
	if (paths > PATHS_MAX)
		paths = PATHS_MAX;
	if (cold)
		run_cold(depth, rounds, &allocate, &frees);
	else
		run_warm(depth, paths, rounds, &allocate, &frees);
	const double part = cold ? 0.5 : 0.25;
	printf("{\"allocate_ns\": %.3f, \"free_ns\": %.3f}\n", slices_quantile(&allocate, part),
		slices_quantile(&frees, part));
	return 0;
}
