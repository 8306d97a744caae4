/* SPDX-License-Identifier: MIT */
/*
 * micro WORKLOAD OPERATIONS SLICE: the allocation patterns whose cost is compared with and without
 * the recorder. Sizes come from xorshift64 with a fixed seed, so every run does the same work. Each
 * object gets its first byte written, or what its line of the table says. Prints
 * {"p5_ns": ..., "median_ns": ..., "cpu_ns": ...}, each for one operation. SLICE 0: no clock and no
 * output, for counting instructions.
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "slices.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define SLOTS_MAX 10000

enum touch { TOUCH_FIRST, TOUCH_PAGES, TOUCH_ALL };

/* Free a random slot of `slots`, fill it with an object of b to 2b, b = base << (q mod octaves). */
struct mixture {
	size_t base;
	unsigned octaves, slots;
	enum touch touch;
};

/* A chain of reallocs: n = from, n += n / divisor + step while n <= to, then free. */
struct growth {
	size_t from, to, divisor, step;
	enum touch touch;
};

struct random {
	uint64_t state;
};

static uint32_t draw(struct random *random)
{
	uint64_t x = random->state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	random->state = x;
	return (uint32_t)(x >> 16);
}

/* Writes to an object of which the first `from` bytes were written before. */
static void touch_from(char *object, size_t from, size_t size, enum touch touch)
{
	volatile char *bytes = object;
	bytes[0] = 1;
	if (touch == TOUCH_ALL)
		memset(object + from, 1, size - from);
	for (size_t at = from; touch == TOUCH_PAGES && at < size; at += 4096)
		bytes[at] = 1;
}

static void run_pair(size_t size, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		volatile char *object = malloc(size);
		object[0] = 1;
		free((char *)object);
	}
}

static void run_calloc(size_t size, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		volatile char *object = calloc(1, size);
		object[0] = 1;
		free((char *)object);
	}
}

static void run_posix_memalign(size_t size, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		void *object = NULL;
		if (posix_memalign(&object, 16, size) != 0)
			abort();
		*(volatile char *)object = 1;
		free(object);
	}
}

/* One realloc an operation, in place, between `size` and a little more. */
static void run_realloc_in_place(size_t size, uint64_t operations)
{
	char *object = malloc(size);
	for (uint64_t i = 0; i < operations; i++)
		object = realloc(object, size - (i & 1));
	free(object);
}

struct mixed_state {
	struct random random;
	char *slots[SLOTS_MAX];
};

static void run_mixed(struct mixed_state *state, const struct mixture *mixture, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		char **slot = &state->slots[draw(&state->random) % mixture->slots];
		free(*slot);
		uint32_t q = draw(&state->random);
		size_t base = mixture->base << (q % mixture->octaves);
		size_t size = base + (q >> 8) % base;
		*slot = malloc(size);
		touch_from(*slot, 0, size, mixture->touch);
	}
}

/* The chain goes on from slice to slice. */
struct growth_state {
	char *object;
	size_t size;
};

static void run_growth(struct growth_state *state, const struct growth *growth, uint64_t operations)
{
	for (uint64_t i = 0; i < operations; i++) {
		size_t size = growth->from;
		if (state->object != NULL)
			size = state->size + growth->step +
			       (growth->divisor == 0 ? 0 : state->size / growth->divisor);
		if (size > growth->to) {
			free(state->object);
			state->object = NULL;
			state->size = 0;
			continue;
		}
		state->object = realloc(state->object, size);
		touch_from(state->object, state->size, size, growth->touch);
		state->size = size;
	}
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*plain)(size_t size, uint64_t operations);
	size_t size;
	struct mixture mixture;
	struct growth growth;
	unsigned threads;
} workloads[] = {
	{ .name = "pair16", .plain = run_pair, .size = 16 },
	{ .name = "pair64", .plain = run_pair, .size = 64 },
	{ .name = "pair256", .plain = run_pair, .size = 256 },
	{ .name = "calloc64", .plain = run_calloc, .size = 64 },
	{ .name = "posix_memalign64", .plain = run_posix_memalign, .size = 64 },
	{ .name = "realloc_in_place", .plain = run_realloc_in_place, .size = 64 },
	{ .name = "mixed", .mixture = { 16, 8, 10000, TOUCH_FIRST } },
	{ .name = "threads2", .mixture = { 16, 8, 10000, TOUCH_FIRST }, .threads = 2 },
	{ .name = "large", .mixture = { 64 * KIB, 4, 64, TOUCH_FIRST } },
	{ .name = "large_pages", .mixture = { 64 * KIB, 4, 16, TOUCH_PAGES } },
	{ .name = "huge", .mixture = { 512 * KIB, 4, 16, TOUCH_FIRST } },
	{ .name = "huge_pages", .mixture = { 512 * KIB, 4, 16, TOUCH_PAGES } },
	{ .name = "pair1m", .plain = run_pair, .size = MIB },
	{ .name = "pair1m_pages", .mixture = { MIB, 1, 1, TOUCH_PAGES } },
	{ .name = "grow_256k", .growth = { 16, 256 * KIB, 4, 0, TOUCH_FIRST } },
	{ .name = "grow_48k", .growth = { 16, 48 * KIB, 4, 0, TOUCH_FIRST } },
	{ .name = "grow_600k_written", .growth = { 16, 600 * KIB, 8, 1, TOUCH_ALL } },
	{ .name = "grow_4m_written", .growth = { 16, 4 * MIB, 8, 1, TOUCH_ALL } },
	{ .name = "grow_64m_by_4k", .growth = { MIB, 64 * MIB, 0, 4 * KIB, TOUCH_FIRST } },
	{ .name = "grow_64m_by_4k_written", .growth = { MIB, 64 * MIB, 0, 4 * KIB, TOUCH_ALL } },
};
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

struct run {
	size_t workload;
	uint64_t operations, slice, seed;
};

static void *run_thread(void *argument)
{
	static struct mixed_state states[2];
	const struct run *run = argument;
	struct mixed_state *state = &states[run->seed & 1];
	state->random.state = run->seed;
	run_mixed(state, &workloads[run->workload].mixture, run->operations);
	return NULL;
}

static void run_threads(const struct run *run, unsigned count)
{
	pthread_t threads[2];
	struct run runs[2] = { *run, *run };
	for (unsigned i = 0; i < count; i++) {
		runs[i].seed = 88172645463325252u + i;
		pthread_create(&threads[i], NULL, run_thread, &runs[i]);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void run_slices(const struct run *run, struct slices *slices)
{
	static struct mixed_state mixed = { .random.state = 88172645463325252u };
	static struct growth_state growth;
	const uint64_t slice = run->slice == 0 ? run->operations : run->slice;
	for (uint64_t done = 0; done < run->operations; done += slice) {
		uint64_t start = run->slice == 0 ? 0 : thread_time_ns();
		if (workloads[run->workload].plain != NULL)
			workloads[run->workload].plain(workloads[run->workload].size, slice);
		else if (workloads[run->workload].mixture.slots != 0)
			run_mixed(&mixed, &workloads[run->workload].mixture, slice);
		else
			run_growth(&growth, &workloads[run->workload].growth, slice);
		if (run->slice != 0)
			slices_add(slices, thread_time_ns() - start, slice);
	}
}

static double cpu_ns(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int count, char **words)
{
	static struct slices slices;
	struct run run = { 0 };
	if (count != 4) {
		fprintf(stderr, "usage: micro WORKLOAD OPERATIONS SLICE\n");
		return 2;
	}
	while (run.workload < WORKLOADS && strcmp(workloads[run.workload].name, words[1]) != 0)
		run.workload++;
	run.operations = strtoull(words[2], NULL, 10);
	run.slice = strtoull(words[3], NULL, 10);
	if (run.workload == WORKLOADS || run.operations == 0) {
		fprintf(stderr, "micro: unknown workload or bad number\n");
		return 2;
	}
	if (workloads[run.workload].threads != 0)
		run_threads(&run, workloads[run.workload].threads);
	else
		run_slices(&run, &slices);
	if (run.slice == 0)
		return 0;
	double total = (double)run.operations * (workloads[run.workload].threads != 0 ? 2 : 1);
	printf("{\"p5_ns\": %.3f, \"median_ns\": %.3f, \"cpu_ns\": %.3f}\n",
		slices_quantile(&slices, 0.05), slices_quantile(&slices, 0.5), cpu_ns() / total);
	return 0;
}
