/* SPDX-License-Identifier: MIT */
/*
 * Readings of counters, kept as differences: whatever was added comes back, thread by thread and in
 * its order, bound by bound, whether it is walked over or taken; numbers of all sizes, and threads of any number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "model/readings.h"

#define THREADS 300u
#define READINGS 60000u

/* Most readings are a little later than the one before, as counters are; one in eight is anything,
 * among them the largest numbers there are. */
static struct bp_reading reading_of(uint32_t number)
{
	const uint64_t draw = bp_hash_u64(number + 1);
	const uint64_t wild = draw % 8 == 0 ? bp_hash_u64(draw) >> draw % 64 : 0;
	struct bp_reading reading = { .thread = { (uint32_t)(draw >> 40) % THREADS * 14316557u },
		.bound = draw >> 8 & 15 ? BP_READING_THEN
					: (enum bp_reading_bound)((draw >> 12) % 3),
		.time_ns = 5000000u + number * (uint64_t)700,
		.bytes = number * (uint64_t)120 + draw % 100,
		.objects = number / 2 };
	if (wild != 0) {
		reading.time_ns = wild;
		reading.bytes = ~wild;
		reading.objects = draw % 16 == 0 ? UINT64_MAX : wild / 3;
	}
	return reading;
}

static void fill(struct bp_readings *readings)
{
	for (uint32_t i = 0; i < READINGS; i++) {
		const struct bp_reading reading = reading_of(i);
		assert_true(bp_readings_add(readings, &reading));
	}
}

static void assert_same(const struct bp_reading *read, const struct bp_reading *added)
{
	assert_int_equal(read->thread.i, added->thread.i);
	assert_int_equal(read->bound, added->bound);
	assert_true(read->time_ns == added->time_ns && read->bytes == added->bytes &&
		    read->objects == added->objects);
}

/* The number from `from` on of a reading of this thread and bound; READINGS: there is none. */
static uint32_t next_of(const struct bp_reading *like, uint32_t from)
{
	for (; from < READINGS; from++) {
		const struct bp_reading reading = reading_of(from);
		if (reading.thread.i == like->thread.i && reading.bound == like->bound)
			break;
	}
	return from;
}

static void walks_give_what_was_added(void **state)
{
	struct bp_readings readings = { 0 };
	uint32_t given = 0;
	(void)state;
	fill(&readings);
	assert_true(readings.count <= 3 * THREADS && readings.count > THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct bp_readings_walk walk = bp_readings_of(&readings, i * 14316557u);
		struct bp_reading reading;
		enum bp_reading_bound bound = BP_READING_THEN;
		for (uint32_t at = 0; bp_readings_next(&walk, &reading); at++) {
			if (reading.bound != bound) /* another list */
				at = 0;
			bound = reading.bound;
			at = next_of(&reading, at);
			assert_true(at < READINGS);
			const struct bp_reading added = reading_of(at);
			assert_same(&reading, &added);
			given++;
		}
	}
	assert_int_equal(given, READINGS);
	bp_readings_finish(&readings);
}

static void taking_empties_a_list(void **state)
{
	struct bp_readings readings = { 0 };
	uint32_t given = 0;
	(void)state;
	fill(&readings);
	for (uint32_t i = 0; i < readings.count; i++) {
		struct bp_reading_list *list = &readings.lists[i];
		const struct bp_thread_id thread = bp_reading_list_thread(list);
		struct bp_readings_walk walk = { 0 };
		struct bp_reading reading;
		for (uint32_t at = 0; bp_readings_take(list, &walk, &reading); at++) {
			assert_int_equal(reading.thread.i, thread.i);
			at = next_of(&reading, at);
			assert_true(at < READINGS);
			const struct bp_reading added = reading_of(at);
			assert_same(&reading, &added);
			given++;
		}
		assert_true(list->first == NULL && !bp_readings_take(list, &walk, &reading));
	}
	assert_int_equal(given, READINGS);
	bp_readings_finish(&readings);
}

static void an_unknown_thread_has_none(void **state)
{
	struct bp_readings readings = { 0 };
	struct bp_reading reading;
	(void)state;
	struct bp_readings_walk walk = bp_readings_of(&readings, 0);
	assert_false(bp_readings_next(&walk, &reading));
	fill(&readings);
	walk = bp_readings_of(&readings, 14316558u);
	assert_false(bp_readings_next(&walk, &reading));
	bp_readings_finish(&readings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_give_what_was_added),
		cmocka_unit_test(taking_empties_a_list),
		cmocka_unit_test(an_unknown_thread_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
