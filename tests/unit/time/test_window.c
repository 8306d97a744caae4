/* SPDX-License-Identifier: MIT */
/*
 * What was allocated in a window of time, from counters: two threads that allocate at a known pace,
 * of which records are heard now and then. The limits must hold the truth wherever the edges lie,
 * be tight where a record is near, and make the rows of the window parts of a counted total.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/hash.h"
#include "small_profile.h"

#define INTERVAL 65536u
#define STEPS 2000u /* of 5 ms each, in every one of which a thread allocates once */
#define STEP_NS 5000000u
#define THREADS 2u

/* The size of thread `thread`'s object in a step. */
static uint64_t size_of(unsigned thread, unsigned step)
{
	return 100 + bp_hash_u64(thread * 100000 + step) % 3000;
}

/* Bytes allocated in the steps [from, to) by both. */
static uint64_t truth(unsigned from, unsigned to)
{
	uint64_t bytes = 0;
	for (unsigned thread = 0; thread < THREADS; thread++)
		for (unsigned step = from; step < to; step++)
			bytes += size_of(thread, step);
	return bytes;
}

static void read_counters(struct bp_profile *profile, struct bp_thread_id thread,
	enum bp_reading_bound bound, unsigned step, uint64_t bytes, uint64_t objects)
{
	struct bp_error error;
	struct bp_reading reading = { .thread = thread,
		.bound = bound,
		.time_ns = SMALL_BASE_NS + (uint64_t)step * STEP_NS,
		.bytes = bytes,
		.objects = objects };
	assert_true(bp_profile_add_reading(profile, &reading, &error));
}

static uint32_t reading_count(const struct bp_profile *profile)
{
	uint32_t count = 0;
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		struct bp_readings_walk walk = bp_readings_of(&profile->readings, i);
		struct bp_reading reading;
		while (bp_readings_next(&walk, &reading))
			count++;
	}
	return count;
}

/* What another thread reads of this one: true in a step, told as of some steps later or before. */
static void read_from_outside(struct bp_profile *profile, struct bp_thread_id thread, unsigned step,
	uint64_t bytes, uint64_t objects)
{
	read_counters(profile, thread, BP_READING_AT_LEAST, step + 40, bytes, objects);
	if (step >= 40)
		read_counters(profile, thread, BP_READING_AT_MOST, step - 40, bytes, objects);
}

/* Ten seconds; an object is a sample with probability pi, and then its thread's counters are
 * read. Now and then another thread reads them. */
static void make(struct bp_profile *profile)
{
	struct bp_stack_id stacks[2];
	uint64_t all_bytes = 0;
	small_init(profile);
	profile->keep_readings = true;
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, INTERVAL);
	stacks[0] = small_stack(profile, "work;main");
	stacks[1] = small_stack(profile, "rest;main");
	for (unsigned t = 0; t < THREADS; t++) {
		struct bp_thread_id thread = small_thread(profile, process, t + 1, "worker");
		uint64_t bytes = 0;
		for (unsigned step = 0; step < STEPS; step++) {
			uint64_t size = size_of(t, step);
			double pi = bp_inclusion_probability(bp_trials(size, 1), INTERVAL);
			double draw = (double)(bp_hash_u64(77 + t * 7919 + step * 104729) >> 11) *
				      0x1p-53;
			bytes += size;
			if (step % 100 == 0)
				read_from_outside(profile, thread, step, bytes, step + 1);
			if (draw >= pi)
				continue;
			struct bp_sample *sample = small_sample(profile, process,
				stacks[step % 5 == 0], size, (double)step * 0.005, -1);
			sample->thread = thread;
			read_counters(profile, thread, BP_READING_THEN, step, bytes, step + 1);
		}
		profile->threads.data[thread.i].bytes_allocated =
			(struct bp_known_total){ bytes, bytes };
		profile->threads.data[thread.i].objects_allocated =
			(struct bp_known_total){ STEPS, STEPS };
		all_bytes += bytes;
	}
	small_totals(profile, process, all_bytes, all_bytes, THREADS * STEPS, THREADS * STEPS);
}

static struct bp_total total_of(struct bp_profile *profile, unsigned from, unsigned to)
{
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
		.has_from = true,
		.from_ns = (uint64_t)from * STEP_NS,
		.has_to = true,
		.to_ns = (uint64_t)to * STEP_NS };
	struct bp_aggregation a = small_aggregate(profile, &query);
	struct bp_total total = a.totals[BP_METRIC_ALLOCATED];
	bp_aggregation_finish(&a);
	return total;
}

static void the_limits_hold_the_truth(void **state)
{
	struct bp_profile profile;
	(void)state;
	make(&profile);
	assert_true(reading_count(&profile) > 50);
	for (unsigned i = 0; i < 200; i++) {
		unsigned from = (unsigned)(bp_hash_u64(i) % STEPS);
		unsigned to = from + 1 + (unsigned)(bp_hash_u64(i + 1000) % (STEPS - from));
		struct bp_total total = total_of(&profile, from, to);
		double bytes = (double)truth(from, to);
		assert_true(total.bytes.interval.low <= bytes);
		assert_true(total.bytes.interval.high >= bytes);
		assert_true(total.bytes.interval.low <= total.bytes.interval.estimate &&
			    total.bytes.interval.estimate <= total.bytes.interval.high);
		assert_true(total.objects.interval.low <= THREADS * (to - from));
		assert_true(total.objects.interval.high >= THREADS * (to - from));
		/* No edge of a thread is further than a few intervals from a record of it. */
		assert_true(total.bytes.interval.high - total.bytes.interval.low <
			    4.0 * THREADS * 6 * INTERVAL);
	}
	bp_profile_finish(&profile);
}

static void the_whole_run_is_exact(void **state)
{
	struct bp_profile profile;
	(void)state;
	make(&profile);
	struct bp_total total = total_of(&profile, 0, 3 * STEPS);
	small_assert_exact(total.bytes, (double)truth(0, STEPS));
	small_assert_exact(total.objects, THREADS * STEPS);
	bp_profile_finish(&profile);
}

/* Rows are calibrated: their estimates add up to one total within the limits, and their intervals
 * are narrower than without the counters. */
static void rows_are_parts_of_it(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
		.has_from = true,
		.from_ns = 200u * (uint64_t)STEP_NS,
		.has_to = true,
		.to_ns = 1900u * (uint64_t)STEP_NS };
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	struct bp_row row = small_row(&a, "work"), rest = small_row(&a, "rest");
	struct bp_interval total = a.totals[BP_METRIC_ALLOCATED].bytes.interval;
	double sum = row.bytes.interval.estimate + rest.bytes.interval.estimate;
	assert_true(sum >= total.low * (1 - 1e-9) && sum <= total.high * (1 + 1e-9));
	double width = row.bytes.interval.high - row.bytes.interval.low;
	bp_aggregation_finish(&a);
	query.estimator = BP_ESTIMATOR_HT;
	a = small_aggregate(&profile, &query);
	row = small_row(&a, "work");
	assert_true(width < 0.8 * (row.bytes.interval.high - row.bytes.interval.low));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* Counters that were not kept are not invented. */
static void without_readings_nothing_is_counted(void **state)
{
	struct bp_profile profile;
	struct bp_error error = { 0 };
	struct bp_aggregation a;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
		.estimator = BP_ESTIMATOR_CALIBRATED,
		.has_from = true,
		.from_ns = SMALL_SECOND };
	(void)state;
	make(&profile);
	profile.keep_readings = false;
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	assert_true(error.text[0] != '\0');
	bp_profile_finish(&profile);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limits_hold_the_truth),
		cmocka_unit_test(the_whole_run_is_exact),
		cmocka_unit_test(rows_are_parts_of_it),
		cmocka_unit_test(without_readings_nothing_is_counted),
	};
	return cmocka_run_group_tests_name("profile window", tests, NULL, NULL);
}
