/* SPDX-License-Identifier: MIT */
/*
 * The clock of bytes: three threads that allocate at a known pace, of which records are heard now and
 * then. What it says of any two moments must hold the truth; where all threads left a record it is
 * exact, and without a record it is as wide as what a thread may have done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "small_profile.h"
#include "time/byte_clock.h"

#define STEPS 1000u
#define STEP_NS 10000000u /* the process lasts 10 s */
#define THREADS 3u

static uint64_t size_of(unsigned thread, unsigned step)
{
	return 100 + bp_hash_u64(thread * 100000 + step) % 3000;
}

/* What all allocated until the end of a step. */
static uint64_t truth(unsigned until)
{
	uint64_t bytes = 0;
	for (unsigned thread = 0; thread < THREADS; thread++)
		for (unsigned step = 0; step <= until; step++)
			bytes += size_of(thread, step);
	return bytes;
}

static uint64_t moment(unsigned step)
{
	return SMALL_BASE_NS + (uint64_t)step * STEP_NS;
}

static void add_reading(struct bp_profile *profile, struct bp_thread_id thread,
	enum bp_reading_bound bound, uint64_t time_ns, uint64_t bytes)
{
	struct bp_error error;
	const struct bp_reading reading = {
		.thread = thread, .bound = bound, .time_ns = time_ns, .bytes = bytes
	};
	assert_true(bp_profile_add_reading(profile, &reading, &error));
}

/* Thread t leaves a record in every step whose number is a multiple of every[t] (0: in none). */
static void make(struct bp_profile *profile, const unsigned *every, bool ends)
{
	uint64_t all = 0;
	small_init(profile);
	profile->keep_readings = true;
	const struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, 65536);
	for (unsigned t = 0; t < THREADS; t++) {
		const struct bp_thread_id thread = small_thread(profile, process, t + 1, "worker");
		uint64_t bytes = 0;
		for (unsigned step = 0; step < STEPS; step++) {
			bytes += size_of(t, step);
			if (every[t] != 0 && step % every[t] == 0)
				add_reading(profile, thread, BP_READING_THEN, moment(step), bytes);
		}
		profile->threads.data[thread.i].bytes_allocated =
			(struct bp_known_total){ bytes, ends ? bytes : UINT64_MAX };
		all += bytes;
	}
	small_totals(profile, process, all, ends ? all : UINT64_MAX, 1, 1);
}

static struct bp_byte_clock *clocks_of(struct bp_profile *profile, struct bp_view *view)
{
	struct bp_error error;
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	assert_true(bp_profile_finish_import(profile, false, &error));
	assert_true(bp_view_init(view, profile, &query, &error));
	struct bp_byte_clock *clocks = bp_byte_clocks_make(view, &error);
	assert_non_null(clocks);
	return clocks;
}

static void finish(struct bp_profile *profile, struct bp_view *view, struct bp_byte_clock *clocks)
{
	bp_byte_clocks_finish(clocks, view);
	bp_view_finish(view);
	bp_profile_finish(profile);
}

static void holds_the_truth(void **state)
{
	static const unsigned every[THREADS] = { 7, 31, 0 };
	struct bp_profile profile;
	struct bp_view view;
	unsigned narrow = 0;
	(void)state;
	make(&profile, every, true);
	struct bp_byte_clock *clocks = clocks_of(&profile, &view);
	uint64_t of_silent = 0;
	for (unsigned step = 0; step < STEPS; step++)
		of_silent += size_of(2, step);
	for (unsigned i = 0; i < 2000; i++) {
		const unsigned from = (unsigned)(bp_hash_u64(i) % STEPS);
		const unsigned to = from + (unsigned)(bp_hash_u64(i + 5000) % (STEPS - from));
		const struct bp_known_total between =
			bp_byte_clock_between(&clocks[1], moment(from), moment(to), 0);
		const uint64_t wanted = truth(to) - truth(from);
		assert_true(between.low <= wanted && wanted <= between.high);
		/* Of the third thread nothing is known, and of the others little is not. */
		assert_true(between.high <= wanted + of_silent + 2 * 40 * 3100);
		narrow += between.low + 2 * of_silent > wanted;
	}
	assert_true(narrow > 1000);
	finish(&profile, &view, clocks);
}

static void is_exact_where_all_left_a_record(void **state)
{
	static const unsigned every[THREADS] = { 1, 5, 10 };
	struct bp_profile profile;
	struct bp_view view;
	(void)state;
	make(&profile, every, true);
	struct bp_byte_clock *clocks = clocks_of(&profile, &view);
	for (unsigned from = 0; from < STEPS; from += 10)
		for (unsigned to = from; to < STEPS; to += 50) {
			const struct bp_known_total between =
				bp_byte_clock_between(&clocks[1], moment(from), moment(to), 0);
			assert_true(between.low == truth(to) - truth(from));
			assert_true(between.high == between.low);
		}
	/* Up to the end, where totals are known. */
	const struct bp_known_total rest =
		bp_byte_clock_between(&clocks[1], moment(500), moment(STEPS), 0);
	assert_true(rest.low == truth(STEPS - 1) - truth(500) && rest.high == rest.low);
	/* Moments that may be a step early are known to what was allocated in two. */
	const struct bp_known_total late =
		bp_byte_clock_between(&clocks[1], moment(500), moment(600), STEP_NS);
	assert_true(late.low <= truth(599) - truth(500) && late.high >= truth(600) - truth(499));
	finish(&profile, &view, clocks);
}

/* Two records at one time: which of them comes first is not known. */
static void records_at_one_time(void **state)
{
	struct bp_profile profile;
	struct bp_view view;
	(void)state;
	small_init(&profile);
	profile.keep_readings = true;
	const struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 65536);
	const struct bp_thread_id thread = small_thread(&profile, process, 1, "main");
	add_reading(&profile, thread, BP_READING_THEN, moment(10), 100);
	add_reading(&profile, thread, BP_READING_THEN, moment(20), 300);
	add_reading(&profile, thread, BP_READING_THEN, moment(20), 200);
	add_reading(&profile, thread, BP_READING_AT_LEAST, moment(30), 350);
	add_reading(&profile, thread, BP_READING_AT_MOST, moment(40), 900);
	profile.threads.data[thread.i].bytes_allocated = (struct bp_known_total){ 1000, 1000 };
	small_totals(&profile, process, 1000, 1000, 1, 1);
	struct bp_byte_clock *clocks = clocks_of(&profile, &view);
	static const struct {
		unsigned from, to;
		uint64_t low, high;
	} wanted[] = { { 10, 20, 100, 200 }, { 20, 20, 0, 100 }, { 10, 15, 0, 100 },
		{ 20, 30, 50, 700 }, { 10, 35, 250, 800 }, { 10, 41, 250, 900 },
		{ 10, 1000, 900, 900 }, { 0, 10, 100, 100 } };
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const struct bp_known_total between = bp_byte_clock_between(
			&clocks[1], moment(wanted[i].from), moment(wanted[i].to), 0);
		if (between.low != wanted[i].low || between.high != wanted[i].high)
			fail_msg("%zu: %llu to %llu", i, (unsigned long long)between.low,
				(unsigned long long)between.high);
	}
	finish(&profile, &view, clocks);
}

/* A process whose end was not recorded. */
static void without_an_end(void **state)
{
	static const unsigned every[THREADS] = { 10, 10, 10 };
	struct bp_profile profile;
	struct bp_view view;
	(void)state;
	make(&profile, every, false);
	struct bp_byte_clock *clocks = clocks_of(&profile, &view);
	const struct bp_known_total inside =
		bp_byte_clock_between(&clocks[1], moment(100), moment(990), 0);
	assert_true(inside.low == 0 && inside.high == UINT64_MAX);
	finish(&profile, &view, clocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_the_truth),
		cmocka_unit_test(is_exact_where_all_left_a_record),
		cmocka_unit_test(records_at_one_time),
		cmocka_unit_test(without_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
