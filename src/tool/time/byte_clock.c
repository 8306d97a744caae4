/* SPDX-License-Identifier: MIT */
/*
 * Each limit is a function of time that only grows, in steps. The lower one of a thread grows to
 * what a record says when that is made; the upper one grows, immediately after a record, to what
 * the next record says. Steps of all threads are sorted by time, and added up. Where a thread has
 * several records at one time, it is not known which of them comes first: at that time the lower
 * limit is the first of them, and the upper limit the last.
 *
 * The key of a step is twice the time, and one more for a step immediately afterwards.
 */
#include "time/byte_clock.h"

#include <stdlib.h>

#include "base/saturated.h"
#include "base/sorted.h"
#include "base/vec.h"

struct bp_byte_step {
	uint64_t key;
	uint64_t bytes; /* how much it grows; when all are sorted, what it has become */
};

/* The readings of a thread that bound its counters from below, or from above. */
struct thread_readings {
	struct bp_byte_step *items; /* key: time */
	uint32_t count, capacity;
};

static int compare_steps(const void *left, const void *right)
{
	const struct bp_byte_step *a = left, *b = right;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void sort(struct bp_byte_step *steps, uint32_t count)
{
	if (count > 0)
		qsort(steps, count, sizeof *steps, compare_steps);
}

static bool add(struct bp_byte_step **steps, uint32_t *count, uint32_t *capacity, uint64_t key,
	uint64_t bytes)
{
	if (!bp_vec_reserve(steps, capacity, *count + UINT64_C(1), sizeof **steps))
		return false;
	(*steps)[(*count)++] = (struct bp_byte_step){ key, bytes };
	return true;
}

/* The readings that are limits from below (`above` false), or from above, by time. */
static bool take(
	struct thread_readings *to, const struct bp_view *view, uint32_t thread, bool above)
{
	struct bp_readings_walk walk = bp_readings_of(&view->profile->readings, thread);
	struct bp_reading reading;
	to->count = 0;
	while (bp_readings_next(&walk, &reading)) {
		if (reading.bound == (above ? BP_READING_AT_LEAST : BP_READING_AT_MOST))
			continue;
		if (!add(&to->items, &to->count, &to->capacity,
			    bp_min_u64(reading.time_ns, UINT64_MAX / 2), reading.bytes))
			return false;
	}
	sort(to->items, to->count);
	return true;
}

static bool grow_low(struct bp_byte_clock *clock, uint64_t key, uint64_t *now, uint64_t to)
{
	const uint64_t grown = bp_subtract_saturated(to, *now);
	*now = bp_max_u64(*now, to);
	return grown == 0 || add(&clock->low, &clock->low_count, &clock->low_capacity, key, grown);
}

static bool add_low(struct bp_byte_clock *clock, const struct thread_readings *readings)
{
	uint64_t now = 0;
	for (uint32_t i = 0, next; i < readings->count; i = next) {
		const uint64_t time = readings->items[i].key;
		for (next = i; next < readings->count && readings->items[next].key == time;)
			next++;
		if (!grow_low(clock, 2 * time, &now, readings->items[i].bytes) ||
			!grow_low(clock, 2 * time + 1, &now, readings->items[next - 1].bytes))
			return false;
	}
	return true;
}

/* From the end on, since a later reading is an upper limit of all times before it. */
static bool add_high(
	struct bp_byte_clock *clock, const struct thread_readings *readings, uint64_t total)
{
	uint64_t after = total; /* the limit after the readings that were passed */
	for (uint32_t i = readings->count; i > 0;) {
		const uint64_t time = readings->items[i - 1].key;
		const uint64_t then = bp_min_u64(after, readings->items[i - 1].bytes);
		for (; i > 1 && readings->items[i - 2].key == time; i--)
			;
		const uint64_t before = bp_min_u64(then, readings->items[--i].bytes);
		if ((after > then && !add(&clock->high, &clock->high_count, &clock->high_capacity,
					     2 * time + 1, after - then)) ||
			(then > before && !add(&clock->high, &clock->high_count,
						  &clock->high_capacity, 2 * time, then - before)))
			return false;
		after = before;
	}
	clock->high_first = bp_add_saturated(clock->high_first, after);
	return true;
}

static bool add_thread(struct bp_byte_clock *clock, const struct bp_view *view, uint32_t number,
	struct thread_readings *readings)
{
	const struct bp_thread *thread = &view->profile->threads.data[number];
	clock->unknown = bp_subtract_from_limit(clock->unknown, thread->bytes_allocated.high);
	return take(readings, view, number, false) && add_low(clock, readings) &&
	       take(readings, view, number, true) &&
	       add_high(clock, readings, thread->bytes_allocated.high);
}

static void add_up(struct bp_byte_step *steps, uint32_t count, uint64_t first)
{
	sort(steps, count);
	for (uint32_t i = 0; i < count; i++)
		first = steps[i].bytes = bp_add_saturated(first, steps[i].bytes);
}

struct bp_byte_clock *bp_byte_clocks_make(const struct bp_view *view, struct bp_error *error)
{
	const struct bp_profile *profile = view->profile;
	const uint32_t processes = profile->processes.count;
	struct bp_byte_clock *clocks = calloc((size_t)processes + 1, sizeof *clocks);
	struct thread_readings readings = { 0 };
	bool good = clocks != NULL;
	for (uint32_t i = 1; good && i < processes; i++) {
		clocks[i].total = profile->processes.data[i].bytes_allocated;
		clocks[i].unknown = clocks[i].total.high;
		clocks[i].start_ns = profile->processes.data[i].start_time_ns;
		clocks[i].end_ns = view->processes[i].end_ns;
	}
	for (uint32_t i = 1; good && i < profile->threads.count; i++) {
		const uint32_t process = profile->threads.data[i].process.i;
		if (view->processes[process].included)
			good = add_thread(&clocks[process], view, i, &readings);
	}
	free(readings.items);
	if (!good) {
		bp_byte_clocks_finish(clocks, view);
		bp_error_set(error, "out of memory");
		return NULL;
	}
	for (uint32_t i = 1; i < processes; i++) {
		add_up(clocks[i].low, clocks[i].low_count, 0);
		add_up(clocks[i].high, clocks[i].high_count, clocks[i].high_first);
	}
	return clocks;
}

void bp_byte_clocks_finish(struct bp_byte_clock *clocks, const struct bp_view *view)
{
	for (uint32_t i = 1; clocks != NULL && i < view->profile->processes.count; i++) {
		free(clocks[i].low);
		free(clocks[i].high);
	}
	free(clocks);
}

static uint64_t value_at(
	const struct bp_byte_step *steps, uint32_t count, uint64_t time_ns, uint64_t first)
{
	const uint32_t passed = bp_sorted_upto(
		steps, sizeof *steps, count, 2 * bp_min_u64(time_ns, UINT64_MAX / 2));
	return passed > 0 ? steps[passed - 1].bytes : first;
}

static uint64_t low_at(const struct bp_byte_clock *clock, uint64_t time_ns)
{
	if (time_ns >= clock->end_ns)
		return clock->total.low;
	return value_at(clock->low, clock->low_count, time_ns, 0);
}

/* (Without what threads that are not known allocated.) */
static uint64_t high_at(const struct bp_byte_clock *clock, uint64_t time_ns)
{
	if (time_ns <= clock->start_ns)
		return low_at(clock, time_ns);
	return bp_min_u64(value_at(clock->high, clock->high_count, time_ns, clock->high_first),
		clock->total.high);
}

struct bp_known_total bp_byte_clock_between(
	const struct bp_byte_clock *clock, uint64_t from_ns, uint64_t to_ns, uint64_t slack_ns)
{
	const uint64_t from_low = low_at(clock, bp_subtract_saturated(from_ns, slack_ns));
	const uint64_t from_high = bp_add_saturated(
		high_at(clock, bp_add_saturated(from_ns, slack_ns)), clock->unknown);
	const uint64_t to_low = low_at(clock, bp_subtract_saturated(to_ns, slack_ns));
	const uint64_t to_high =
		bp_add_saturated(high_at(clock, bp_add_saturated(to_ns, slack_ns)), clock->unknown);
	return (struct bp_known_total){
		.low = bp_subtract_saturated(to_low, from_high),
		.high = bp_subtract_from_limit(to_high, from_low),
	};
}
