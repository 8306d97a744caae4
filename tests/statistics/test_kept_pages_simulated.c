/* SPDX-License-Identifier: MIT */
/*
 * What rows keep of the pages of a heap, by seeded simulation: a made-up heap of six rows, among
 * them such whose objects of no bytes keep a page each, and one that has both these and full pages.
 * Its map of chunks gives shares and the unseen unit, as a look does; objects are sampled by trials
 * with exponential gaps, and the limits compared with the truth, also of rows without a sample.
 *
 * At most 2.75 % of 4,000 repetitions (BYTEPOLL_LONG_TESTS=1: 20,000) may miss on a side, and 5
 * standard errors more: a correct interval at that rate fails with a probability below 1e-6, over
 * all cells below 1e-4. The seeds are the first that were chosen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "estimate/estimate.h"
#include "resident/pages/heap_pages.h"

#define REPETITIONS_SHORT 4000
#define REPETITIONS_LONG 20000
#define PAGE UINT64_C(4096)
#define START UINT64_C(0x10000000)
#define OBJECTS_MAX 16384
#define ROWS 6
#define ALPHA .05

static const char *const row_names[ROWS] = { "small alone", "empty alone", "strings", "whole pages",
	"strings, some empty alone", "three buffers" };

struct object {
	uint64_t size, at;
	struct bp_chunk_pages its;
	double first_trial;
	int row;
};

static struct object objects[OBJECTS_MAX];
static unsigned object_count;
static struct bp_chunk_map map;
static uint64_t place = START;
static double trials;

static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static double random_uniform(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + .5) * 0x1p-53;
}

static uint64_t chunk_bytes(uint64_t size)
{
	const uint64_t bytes = (size + 8 + 15) / 16 * 16;
	return bytes < 32 ? 32 : bytes;
}

static void add(int row, uint64_t size)
{
	objects[object_count++] = (struct object){ .size = size, .at = place, .row = row };
	bp_chunk_map_add(&map, place, true);
	place += chunk_bytes(size);
}

/* Free up to the next page, so that what comes is alone there. */
static void skip_page(void)
{
	bp_chunk_map_add(&map, place, false);
	place = (place / PAGE + 1) * PAGE;
}

static void fill_heap(void)
{
	random_state = 1;
	bp_chunk_map_begin(&map, START);
	for (int i = 0; i < 3000; i++) {
		add(0, 40);
		if (i % 3 == 0)
			add(2, 20 + (uint64_t)(random_uniform() * 180));
		skip_page();
		if (i % 75 == 0) {
			add(1, 0);
			skip_page();
		}
		if (i % 30 == 0)
			add(3, 8192 + (uint64_t)(random_uniform() * 16384));
		for (int s = 0; i % 50 == 0 && s < 60; s++)
			add(4, 24 + (uint64_t)(random_uniform() * 200));
		if (i % 150 == 0) {
			skip_page();
			add(4, 0);
			skip_page();
		}
		if (i % 1000 == 0)
			add(5, 9000);
	}
	bp_chunk_map_end(&map, place);
}

/* What is known beside the samples. */
struct known {
	struct bp_heap_page_sums sums;
	struct bp_heap_pages pages;
};

static void make_known(struct known *known)
{
	struct bp_page_runs present = { 0 };
	fill_heap();
	assert_true(bp_page_runs_add(&present, START, (place / PAGE + 1) * PAGE));
	assert_true(bp_heap_pages_make(&map, &present, &known->pages));
	known->sums = bp_heap_pages_sum(&known->pages);
	for (unsigned i = 0; i < object_count; i++) {
		struct object *object = &objects[i];
		assert_true(bp_heap_pages_of_chunk(
			&known->pages, object->at, chunk_bytes(object->size), &object->its));
		object->first_trial = trials;
		trials += (double)object->size + 1;
	}
	free(present.items);
}

static unsigned object_of(double trial)
{
	unsigned low = 0, high = object_count - 1;
	while (low < high) {
		const unsigned middle = (low + high + 1) / 2;
		if (objects[middle].first_trial <= trial)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

struct row_sums {
	struct bp_sums kept, alone, touched;
};

static void add_value(struct bp_sums *sums, double value, const struct object *object,
	uint64_t interval, bool exact)
{
	if (value > 0)
		bp_sums_add(sums, value, object->size, 1, interval, exact);
	sums->ratio_max = 0;
}

static void add_sample(
	struct row_sums rows[ROWS], const struct object *object, uint64_t interval, bool exact)
{
	struct row_sums *row = &rows[object->row];
	add_value(&row->kept, object->its.kept, object, interval, exact);
	add_value(&row->alone, (double)object->its.sole, object, interval, exact);
	add_value(&row->touched, (double)object->its.touched, object, interval, exact);
}

static void draw(struct row_sums rows[ROWS], uint64_t interval)
{
	unsigned last = UINT32_MAX;
	for (unsigned i = 0; i < object_count; i++)
		if (objects[i].size + 1 >= interval)
			add_sample(rows, &objects[i], interval, true);
	for (double at = 0;;) {
		at -= log(random_uniform()) / bp_lambda(interval);
		if (at >= trials)
			return;
		const unsigned i = object_of(at);
		if (i != last && objects[i].size + 1 < interval)
			add_sample(rows, &objects[i], interval, false);
		last = i;
	}
}

struct misses {
	unsigned kept_low, kept_high, free_low, free_high;
	double error;
};

/* What only objects of a row touch. */
static double free_without(const struct known *known, int row)
{
	static uint8_t its[65536];
	double bytes = 0;
	for (size_t p = 0; p < sizeof its; p++)
		its[p] = 0;
	for (unsigned i = 0; i < object_count; i++)
		if (objects[i].row == row) {
			const uint64_t end = objects[i].at + chunk_bytes(objects[i].size) - 1;
			for (uint64_t p = objects[i].at / PAGE; p <= end / PAGE; p++)
				its[p - START / PAGE]++;
		}
	for (size_t p = 0; p < sizeof its; p++)
		bytes += its[p] > 0 && its[p] == known->pages.chunks[p] ? (double)PAGE : 0;
	return bytes;
}

static void judge(const struct known *known, const struct row_sums *row, uint64_t interval,
	double kept, double freed, struct misses *misses)
{
	const double lambda = bp_lambda(interval), held = (double)known->sums.held;
	const double unit = lambda * bp_ratio_classes_unit(&known->pages.kept, lambda, ALPHA / 2);
	const double touching =
		lambda * bp_ratio_classes_unit(&known->pages.touched, lambda, ALPHA / 2);
	const struct bp_interval is = bp_estimate_values(&row->kept, interval, unit, ALPHA);
	const struct bp_interval alone = bp_estimate_values(&row->alone, interval, unit, ALPHA);
	const double touched =
		bp_estimate_values(&row->touched, interval, touching, ALPHA / 2).high;
	const double alone_most = bp_estimate_values(&row->alone, interval, unit, ALPHA / 2).high;
	const double others = fmax((double)known->sums.sole - alone_most, 0);
	const double slack = 1e-6 * held;
	misses->kept_low += fmin(is.low, held) > kept + slack;
	misses->kept_high += fmin(is.high, held) < kept - slack;
	misses->free_low += fmin(alone.low, held) > freed + slack;
	misses->free_high += fmax(fmin(touched, held - others), alone.low) < freed - slack;
	misses->error += is.estimate / kept - 1;
}

static void simulate(const struct known *known, uint64_t interval, int repetitions)
{
	const double limit = .0275 + 5 * sqrt(.0275 * .9725 / repetitions);
	struct misses misses[ROWS] = { { 0 } };
	double kept[ROWS] = { 0 }, freed[ROWS];
	for (unsigned i = 0; i < object_count; i++)
		kept[objects[i].row] += objects[i].its.kept;
	for (int row = 0; row < ROWS; row++)
		freed[row] = free_without(known, row);
	random_state = interval;
	for (int repetition = 0; repetition < repetitions; repetition++) {
		struct row_sums rows[ROWS];
		memset(rows, 0, sizeof rows);
		draw(rows, interval);
		for (int row = 0; row < ROWS; row++)
			judge(known, &rows[row], interval, kept[row], freed[row], &misses[row]);
	}
	bool good = true;
	for (int row = 0; row < ROWS; row++) {
		const struct misses *its = &misses[row];
		const double part = 100.0 / repetitions;
		print_message("# T %5llu, %-25s: kept %.2f %.2f, free %.2f %.2f %% missed; mean "
			      "error %.2f %%\n",
			(unsigned long long)interval, row_names[row], its->kept_low * part,
			its->kept_high * part, its->free_low * part, its->free_high * part,
			its->error * part);
		good = good && its->kept_low < limit * repetitions &&
		       its->kept_high < limit * repetitions &&
		       its->free_low < limit * repetitions && its->free_high < limit * repetitions;
	}
	assert_true(good);
}

static void test_rows(void **state)
{
	const char *form = getenv("BYTEPOLL_LONG_TESTS");
	const int repetitions = form != NULL && *form == '1' ? REPETITIONS_LONG : REPETITIONS_SHORT;
	struct known known;
	(void)state;
	make_known(&known);
	simulate(&known, 4096, repetitions);
	simulate(&known, 32768, repetitions);
	bp_heap_pages_finish(&known.pages);
	bp_chunk_map_finish(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
