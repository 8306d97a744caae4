/* SPDX-License-Identifier: MIT */
/* The map of chunks, shares of pages counted by hand, and what bounds the unseen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resident/pages/heap_pages.h"

#define PAGE UINT64_C(4096)
#define START UINT64_C(0x10000000)

static void assert_near(double is, double expected)
{
	assert_true(fabs(is - expected) <= 1e-9 * (1 + fabs(expected)));
}

/* 64 live, 4032 free, 8160 live, 32 live, 8096 free; then a block mapped alone of two pages. The
 * pages: the first has the small chunk; the second and the third the large one; at the end of the
 * third begin the small and a free one. */
static void fill(struct bp_chunk_map *map)
{
	bp_chunk_map_begin(map, START);
	bp_chunk_map_add(map, START, true);
	bp_chunk_map_add(map, START + 64, false);
	bp_chunk_map_add(map, START + PAGE, true);
	bp_chunk_map_add(map, START + PAGE + 8144, true);
	bp_chunk_map_add(map, START + PAGE + 8176, false);
	bp_chunk_map_end(map, START + 5 * PAGE);
	bp_chunk_map_add_alone(map, START - 16 * PAGE, START - 14 * PAGE);
}

static void test_shares(void **state)
{
	struct bp_chunk_map map = { 0 };
	struct bp_page_runs present = { 0 };
	struct bp_heap_pages pages;
	struct bp_chunk_pages its;
	(void)state;
	fill(&map);
	/* The second page of the large chunk is resident, its first one is not. */
	assert_true(bp_page_runs_add(&present, START - 16 * PAGE, START - 15 * PAGE));
	assert_true(bp_page_runs_add(&present, START, START + PAGE));
	assert_true(bp_page_runs_add(&present, START + 2 * PAGE, START + 4 * PAGE));
	assert_true(bp_heap_pages_make(&map, &present, &pages));
	const struct bp_heap_page_sums sums = bp_heap_pages_sum(&pages);
	assert_int_equal(sums.resident, 4 * PAGE);
	assert_int_equal(sums.held, 3 * PAGE);
	assert_int_equal(sums.sole, 2 * PAGE);
	assert_int_equal(sums.live, 64 + (8144 - 4096) + 32 + 4096);
	assert_int_equal(sums.beside, 3 * PAGE - sums.live);
	assert_true(bp_heap_pages_of_chunk(&pages, START, 64, &its));
	assert_near(its.kept, 4096);
	assert_int_equal(its.sole, PAGE);
	/* The large one shares its resident page with the small one behind it. */
	assert_true(bp_heap_pages_of_chunk(&pages, START + PAGE, 8144, &its));
	assert_near(its.kept, 2048);
	assert_int_equal(its.sole, 0);
	assert_int_equal(its.touched, PAGE);
	assert_true(bp_heap_pages_of_chunk(&pages, START + PAGE + 8144, 32, &its));
	assert_near(its.kept, 2048);
	/* Of the block alone half is resident. */
	assert_true(bp_heap_pages_of_chunk(&pages, START - 16 * PAGE, 2 * PAGE, &its));
	assert_near(its.kept, 4096);
	/* A page on which the walk saw nothing live is the chunk's own. */
	assert_true(bp_heap_pages_of_chunk(&pages, START + 3 * PAGE + 64, 64, &its));
	assert_near(its.kept, 4096);
	assert_false(bp_heap_pages_of_chunk(&pages, START + 5 * PAGE - 32, 64, &its));
	assert_false(bp_heap_pages_of_chunk(&pages, START - PAGE, 64, &its));
	assert_false(bp_heap_pages_of_chunk(&pages, START, 0, &its));
	assert_false(bp_heap_pages_of_chunk(&pages, START, UINT64_MAX, &its));
	free(present.items);
	bp_heap_pages_finish(&pages);
	bp_chunk_map_finish(&map);
}

/* The shares of all live chunks are the pages that are held, whatever the heap. */
static void test_shares_add_up(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 50; seed++) {
		struct bp_chunk_map map = { 0 };
		struct bp_page_runs present = { 0 };
		struct bp_heap_pages pages;
		struct bp_chunk_pages its;
		struct bp_chunk chunk;
		uint64_t at = START + 64 * seed;
		double kept = 0;
		uint32_t random = seed;
		bp_chunk_map_begin(&map, at);
		for (int i = 0; i < 2000; i++) {
			random = random * 1664525u + 1013904223u;
			bp_chunk_map_add(&map, at, random >> 31);
			at += 32 + (random >> 8) % (i % 10 == 0 ? 20000 : 300) / 16 * 16;
		}
		bp_chunk_map_end(&map, at);
		for (uint64_t page = START / PAGE; page * PAGE < at; page++)
			if (page % 7 != seed % 7)
				assert_true(
					bp_page_runs_add(&present, page * PAGE, (page + 1) * PAGE));
		assert_true(bp_heap_pages_make(&map, &present, &pages));
		for (uint64_t from = 0; bp_chunk_map_next(&map.parts[0], from, &chunk);
			from = chunk.at + chunk.bytes) {
			if (!chunk.live)
				continue;
			assert_true(bp_heap_pages_of_chunk(&pages, chunk.at, chunk.bytes, &its));
			kept += its.kept;
		}
		assert_near(kept, (double)bp_heap_pages_sum(&pages).held);
		free(present.items);
		bp_heap_pages_finish(&pages);
		bp_chunk_map_finish(&map);
	}
}

static uint32_t live_of(const struct bp_chunk_map *map)
{
	struct bp_chunk chunk;
	uint32_t live = 0;
	for (uint64_t from = 0; bp_chunk_map_next(&map->parts[0], from, &chunk);
		from = chunk.at + chunk.bytes)
		live += chunk.live;
	return live;
}

/* A walk that goes back takes its chunks out; a chunk in a list of free ones is free. */
static void test_map(void **state)
{
	struct bp_chunk_map map = { 0 };
	struct bp_chunk chunk;
	(void)state;
	bp_chunk_map_begin(&map, START);
	for (uint64_t i = 0; i < 1000; i++)
		bp_chunk_map_add(&map, START + i * 48, true);
	bp_chunk_map_return(&map, START + 500 * 48);
	bp_chunk_map_end(&map, START + 500 * 48 + 32);
	assert_int_equal(live_of(&map), 500);
	bp_chunk_map_add(&map, START + 500 * 48, true);
	assert_int_equal(live_of(&map), 501);
	assert_true(bp_chunk_map_next(&map.parts[0], START + 500 * 48, &chunk));
	assert_int_equal(chunk.bytes, 32);
	bp_chunk_map_free(&map, START + 480);
	bp_chunk_map_free(&map, START - 480);
	assert_int_equal(live_of(&map), 500);
	assert_true(bp_chunk_map_next(&map.parts[0], START + 479, &chunk));
	assert_true(chunk.at == START + 480 && !chunk.live && chunk.bytes == 48);
	assert_false(bp_chunk_map_next(&map.parts[0], START + 501 * 48, &chunk));
	bp_chunk_map_add(&map, START + BP_CHUNK_MAP_BYTES_MAX + 16, true);
	assert_true(map.failed);
	bp_chunk_map_finish(&map);
}

/* glibc gives every request a chunk that says as many trials, or fewer. */
static void test_trials(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes < 5000; bytes++) {
		void *object = malloc(bytes);
		assert_true(
			bp_chunk_trials_least(malloc_usable_size(object) + 8, false) <= bytes + 1);
		free(object);
	}
	assert_int_equal(bp_chunk_trials_least(32, false), 1);
	assert_true(bp_chunk_trials_least(1u << 20, false) > (1u << 20) - 64);
	assert_int_equal(bp_chunk_trials_least(4096, true), 1);
}

/* Chunks of one ratio r with enough trials: the mean of r X is r / lambda. Few: no more than all. */
static void test_unit(void **state)
{
	struct bp_ratio_classes classes = { { 0 } };
	const double lambda = 1.0 / 4096;
	(void)state;
	assert_near(bp_ratio_classes_unit(&classes, lambda, .025), 0);
	classes.bytes[BP_RATIO_CLASS_OF_ONE + 16] = UINT64_C(1) << 50;
	assert_near(bp_ratio_classes_unit(&classes, lambda, .025), 1.1 * 4 * 4096);
	assert_near(bp_ratio_classes_unit(&classes, lambda, .2), 1.25 * 4 * 4096);
	/* 3 trials of 1024 bytes each, then 1 for each: E L = 3072 and 4096 e^(-3/4096), nearly. */
	classes.bytes[BP_RATIO_CLASS_OF_ONE + 16] = 0;
	classes.bytes[BP_RATIO_CLASS_OF_ONE + 80] = 3072;
	classes.bytes[BP_RATIO_CLASS_OF_ONE] = UINT64_C(1) << 50;
	const double first = 1024 * 4096 * -expm1(-3.0 / 4096);
	assert_near(bp_ratio_classes_unit(&classes, lambda, .025),
		1.1 * (first + 4096 * exp(-3.0 / 4096)));
}

static void test_parts(void **state)
{
	struct bp_heap_pages pages = { 0 };
	(void)state;
	assert_true(bp_heap_pages_add_part(&pages, START, START + 5 * PAGE, false));
	assert_int_equal(pages.block_count, 2);
	assert_false(bp_heap_pages_add_part(&pages, START, START + PAGE, false));
	assert_false(bp_heap_pages_add_part(&pages, START + 6 * PAGE + 8, START + 9 * PAGE, false));
	assert_false(bp_heap_pages_add_part(&pages, START + 6 * PAGE, START + 6 * PAGE, false));
	assert_false(bp_heap_pages_add_part(
		&pages, START + 6 * PAGE, START + 6 * PAGE + BP_CHUNK_MAP_BYTES_MAX, false));
	assert_true(bp_heap_pages_add_part(&pages, START + 8 * PAGE, START + 9 * PAGE, true));
	assert_null(bp_heap_pages_part(&pages, START - 1));
	assert_null(bp_heap_pages_part(&pages, START + 6 * PAGE));
	assert_ptr_equal(bp_heap_pages_part(&pages, START + 5 * PAGE - 1), &pages.parts[0]);
	assert_ptr_equal(bp_heap_pages_part(&pages, START + 8 * PAGE), &pages.parts[1]);
	bp_heap_pages_finish(&pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_add_up), cmocka_unit_test(test_map),
		cmocka_unit_test(test_trials), cmocka_unit_test(test_unit),
		cmocka_unit_test(test_parts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
