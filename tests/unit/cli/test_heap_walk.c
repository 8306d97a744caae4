/* SPDX-License-Identifier: MIT */
/*
 * The walk of glibc's heap from outside, against what glibc says of itself. A child makes a random
 * state with up to 64 threads, each with live objects, holes, caches and blocks mapped alone, and
 * pauses; it writes malloc_info and what it holds to memory that both share. The parent walks, and
 * every figure must be the same: free chunks and their bytes, the heap's size, and that what is in
 * use is what the child holds, but for what the C library made for its threads.
 *
 * In a storm the threads do not pause: each replaces objects of one fixed set of sizes, so that what
 * is live is known within the few that are in the air. A walk then says that it failed, or is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/mappings/heap_walk.h"

#define STATES_SHORT 6
#define STATES_LONG 100
#define THREADS_MAX 64
#define OBJECTS 400
#define STORM_OBJECTS 20000
#define STORM_THREADS 8
#define STORM_WALKS 15
#define INFO_BYTES 262144
/* What the C library makes in the heap for itself: for each thread a cache of 656 bytes and the
 * table of its thread-local storage; buffers of standard output. */
#define OWN_BYTES_THREAD 4096
#define OWN_BYTES 65536
/* In chunks: two for a thread, and a few for the process. A cache that is not found leaves what it keeps. */
#define OWN_CHUNKS_THREAD 2
#define OWN_CHUNKS 32

struct shared {
	volatile int ready, stop;
	uint64_t live_bytes; /* chunks of live objects */
	uint64_t live_chunks;
	uint64_t threads;
	char info[INFO_BYTES];
};

static struct shared *shared;
static bool in_storm;
static pthread_barrier_t made, looked_at;

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void count(void *object)
{
	/* A block mapped alone has 16 bytes before the object and counts them both. */
	const size_t usable = malloc_usable_size(object);
	const size_t chunk = usable + ((((size_t *)object)[-1] & 2) != 0 ? 16 : 8);
	__atomic_fetch_add(&shared->live_bytes, chunk, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->live_chunks, 1, __ATOMIC_RELAXED);
}

/* What programs do near blocks mapped alone: advice for their pages but the first (numpy), which makes
 * two mappings of one block, and guards that are touched before nobody may read them (the JVM). */
static void give_advice(void *object)
{
	const uintptr_t first = ((uintptr_t)object + 4095) / 4096 * 4096;
	const uintptr_t end = (uintptr_t)object + malloc_usable_size(object);
	if ((((size_t *)object)[-1] & 2) == 0)
		return;
	madvise((void *)first, (end - first) / 4096 * 4096, MADV_HUGEPAGE);
	char *guard = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	guard[0] = guard[4096] = 1;
	mprotect(guard, 4096, PROT_NONE);
}

static size_t random_size(uint32_t *state)
{
	const uint32_t kind = next(state) % 100;
	return kind < 70   ? next(state) % 200
	       : kind < 95 ? next(state) % 5000
	       : kind < 99 ? next(state) % 100000
			   : 200000 + next(state) % 1000000;
}

static void make_state(uint32_t seed)
{
	void *objects[OBJECTS];
	uint32_t state = seed;
	for (int i = 0; i < OBJECTS; i++)
		objects[i] = malloc(random_size(&state));
	for (int i = 0; i < 2 * OBJECTS; i++) {
		const uint32_t at = next(&state) % OBJECTS;
		free(objects[at]);
		objects[at] = next(&state) % 3 == 0 ? NULL : malloc(random_size(&state));
	}
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i] != NULL) {
			count(objects[i]);
			if (i % 2 == 0)
				give_advice(objects[i]);
		}
}

static void *state_thread(void *seed)
{
	make_state((uint32_t)(uintptr_t)seed);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&looked_at);
	return NULL;
}

/* In the child: a state, then a pause for ever. */
static _Noreturn void hold_state(uint32_t seed)
{
	uint32_t state = seed * 2654435761u;
	const unsigned threads = seed % 4 == 0 ? 0 : 1 + next(&state) % THREADS_MAX;
	static char buffer[INFO_BYTES];
	pthread_t thread;
	shared->threads = threads;
	FILE *info = fmemopen(shared->info, sizeof shared->info, "w");
	setvbuf(info, buffer, _IOFBF, sizeof buffer);
	pthread_barrier_init(&made, NULL, threads + 1);
	pthread_barrier_init(&looked_at, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread, NULL, state_thread, (void *)(uintptr_t)(seed * 64 + i));
	make_state(seed + 1000000);
	pthread_barrier_wait(&made);
	malloc_info(0, info);
	fflush(info);
	shared->ready = 1;
	for (;;)
		pause();
}

static void *storm_thread(void *seed)
{
	static const size_t sizes[] = { 24, 100, 1000, 5000, 60 };
	void **objects = malloc(STORM_OBJECTS * sizeof *objects);
	uint32_t state = (uint32_t)(uintptr_t)seed;
	count(objects);
	for (int i = 0; i < STORM_OBJECTS; i++) {
		objects[i] = malloc(sizes[i % 5]);
		count(objects[i]);
	}
	pthread_barrier_wait(&made);
	while (!shared->stop) {
		const uint32_t at = next(&state) % STORM_OBJECTS;
		free(objects[at]);
		objects[at] = malloc(sizes[at % 5]);
	}
	return NULL;
}

static _Noreturn void hold_storm(uint32_t seed)
{
	pthread_t thread;
	pthread_barrier_init(&made, NULL, STORM_THREADS + 1);
	for (unsigned i = 0; i < STORM_THREADS; i++)
		pthread_create(&thread, NULL, storm_thread, (void *)(uintptr_t)(seed + i));
	pthread_barrier_wait(&made);
	shared->ready = 1;
	for (;;)
		pause();
}

static pid_t begin(void (*hold)(uint32_t seed), uint32_t seed)
{
	shared->ready = shared->stop = 0;
	shared->live_bytes = shared->live_chunks = 0;
	memset(shared->info, 0, sizeof shared->info);
	const pid_t child = fork();
	if (child == 0) {
		alarm(120);
		/* What the parent's heap held counts as in use: it is a new process's that is meant. */
		hold(seed);
	}
	for (int i = 0; i < 60000 && !shared->ready; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	assert_true(shared->ready);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The map has the chunks that the sums are of. (Not where the heap changes under the walk: what is in
 * a list of free chunks now may have been a part of another chunk before.) */
static void check_map(const struct bp_chunk_map *map, const struct bp_heap_walk *walk)
{
	uint64_t bytes = 0, chunks = 0;
	struct bp_chunk chunk;
	assert_false(map->failed);
	for (uint32_t i = 0; i < map->count; i++)
		for (uint64_t at = 0; bp_chunk_map_next(&map->parts[i], at, &chunk);
			at = chunk.at + chunk.bytes)
			if (chunk.live) {
				bytes += chunk.bytes;
				chunks++;
			}
	assert_int_equal(bytes, walk->used_bytes);
	assert_int_equal(chunks, walk->used_chunks);
}

static bool walk(pid_t pid, struct bp_heap_walk *ret_walk, struct bp_heap_areas *ret_areas)
{
	static struct bp_page_reader reader;
	struct bp_smaps smaps;
	assert_true(bp_page_reader_open(&reader, pid));
	assert_true(bp_smaps_read(pid, &smaps));
	struct bp_chunk_map map = { 0 };
	const bool known = bp_heap_walk(&reader, &smaps, ret_walk, ret_areas, &map);
	if (known) {
		assert_true(bp_heap_find_alone(&reader, &smaps, ret_walk, ret_areas, &map));
		if (pid != getpid() && !in_storm)
			check_map(&map, ret_walk);
	}
	bp_chunk_map_finish(&map);
	bp_smaps_finish(&smaps);
	bp_page_reader_close(&reader);
	return known;
}

/* A number of malloc_info's totals, which stand behind all arenas. */
static uint64_t said(const char *element, const char *attribute)
{
	const char *at = shared->info, *found = NULL;
	while ((at = strstr(at, element)) != NULL)
		found = at++;
	assert_non_null(found);
	found = strstr(found, attribute);
	assert_non_null(found);
	return strtoull(found + strlen(attribute), NULL, 10);
}

static uint64_t arenas_said(void)
{
	uint64_t arenas = 0;
	for (const char *at = shared->info; (at = strstr(at, "<heap nr=")) != NULL; at++)
		arenas++;
	return arenas;
}

static void check_sums(const struct bp_heap_walk *found)
{
	assert_int_equal(found->area_bytes, found->used_bytes + found->cached_bytes +
						    found->free_bytes + found->top_bytes +
						    found->other_bytes);
}

static void check_state(uint32_t seed, const struct bp_heap_walk *inherited)
{
	struct bp_heap_walk found;
	struct bp_heap_areas areas;
	const pid_t child = begin(hold_state, seed);
	uint64_t heaps = 0;
	assert_true(walk(child, &found, &areas));
	for (uint32_t i = 0; i < areas.count; i++)
		if (!areas.items[i].alone)
			heaps += areas.items[i].end - areas.items[i].start;
	bp_heap_areas_finish(&areas);
	check_sums(&found);
	/* "rest" has the tops; accessible pages behind a heap's end are in top_bytes alone. */
	const uint64_t behind = heaps - said("<system type=\"current\"", "size=\"");
	/* malloc_info adds the flags of each free chunk to its size, 1, in an arena 1 or 5; not of
	 * those in fastbins. */
	const uint64_t free_bytes = found.free_bytes + found.top_bytes - behind;
	const uint64_t fast_chunks = said("<total type=\"fast\"", "count=\"");
	const uint64_t chunks = found.free_chunks - fast_chunks;
	const uint64_t flags = said("<total type=\"rest\"", "size=\"") +
			       said("<total type=\"fast\"", "size=\"") - free_bytes;
	assert_int_equal(found.tries, 1);
	assert_true(flags >= chunks && flags <= 5 * chunks);
	assert_true(arenas_said() > 1 || flags == chunks);
	assert_int_equal(chunks + arenas_said(), said("<total type=\"rest\"", "count=\""));
	assert_true(found.cached_known);
	const uint64_t own = found.used_bytes - shared->live_bytes;
	assert_true(found.used_bytes >= shared->live_bytes);
	assert_true(found.used_chunks >= shared->live_chunks);
	assert_true(found.used_chunks - shared->live_chunks <=
		    OWN_CHUNKS + OWN_CHUNKS_THREAD * shared->threads);
	assert_true(own <= inherited->used_bytes + OWN_BYTES + THREADS_MAX * OWN_BYTES_THREAD);
	end(child);
}

static void test_states(void **state)
{
	const char *form = getenv("BYTEPOLL_LONG_TESTS");
	const uint32_t states = form != NULL && *form == '1' ? STATES_LONG : STATES_SHORT;
	struct bp_heap_walk inherited;
	struct bp_heap_areas areas;
	(void)state;
	assert_true(walk(getpid(), &inherited, &areas));
	bp_heap_areas_finish(&areas);
	for (uint32_t seed = 0; seed < states; seed++)
		check_state(seed, &inherited);
}

static void test_storm(void **state)
{
	struct bp_heap_walk inherited, found;
	struct bp_heap_areas areas;
	unsigned known = 0, returns = 0;
	(void)state;
	assert_true(walk(getpid(), &inherited, &areas));
	bp_heap_areas_finish(&areas);
	const pid_t child = begin(hold_storm, 7);
	in_storm = true;
	for (int i = 0; i < STORM_WALKS; i++) {
		if (!walk(child, &found, &areas))
			continue;
		bp_heap_areas_finish(&areas);
		check_sums(&found);
		known++;
		returns += found.tries - 1;
		/* Each thread has an object less for a moment; what is freed and in a cache that
		 * could not be followed looks used. */
		const uint64_t in_air = STORM_THREADS * 5100;
		const uint64_t caches = STORM_THREADS * 7 * (32 + 112 + 1016 + 80);
		assert_true(found.used_bytes + in_air >= shared->live_bytes);
		assert_true(found.used_bytes <= shared->live_bytes + in_air + caches + OWN_BYTES +
							STORM_THREADS * OWN_BYTES_THREAD +
							inherited.used_bytes);
	}
	print_message("# storm: %u of %d walks came through, %u times back\n", known, STORM_WALKS,
		returns);
	in_storm = false;
	assert_true(known > 0);
	end(child);
}

/* What is no heap of glibc, or is damaged, is not known. */
static void test_damaged(void **state)
{
	struct bp_heap_walk found;
	struct bp_heap_areas areas;
	(void)state;
	/* Two objects side by side, so that where the first one seems to end is nothing that was ever
	 * the header of a chunk. (The compiler must not know where they come from.) */
	char *volatile made[2] = { malloc(1000), malloc(1000) };
	for (int i = 0; i < 1000 && made[1] - made[0] != 1008; i++) {
		made[0] = made[1];
		made[1] = malloc(1000);
	}
	assert_int_equal(made[1] - made[0], 1008);
	memset(made[1], 0x55, 1000);
	volatile size_t *object = (size_t *)(void *)made[0];
	const size_t head = object[-1];
	object[-1] = head + 48;
	const bool known = walk(getpid(), &found, &areas);
	object[-1] = head;
	free((void *)object);
	assert_false(known);
	assert_true(walk(getpid(), &found, &areas));
	bp_heap_areas_finish(&areas);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_states),
		cmocka_unit_test(test_storm), cmocka_unit_test(test_damaged) };
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
