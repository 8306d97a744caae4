/* SPDX-License-Identifier: MIT */
/*
 * What was sampled and what was not. INTERVAL records cut the life of a thread into pieces, each
 * with one T or none; the place of a cut is given by the thread's own counters. So of the first v
 * bytes of a thread (or objects: both are counted, and both only grow)
 *
 *	off(v) = what lies in pieces without sampling
 *
 * is known exactly for every v; and as off(v) and v - off(v) never fall when v grows, limits of v
 * become limits of both parts.
 *
 * The process: its total may be known better than those of its threads (at an orderly end the
 * threads that still ran have not published their last). What is not in one part is in the other,
 * so each part is also within [total less the most, total less the least] of the other part. At an
 * end where all running threads were on, or all off, both parts are exact.
 *
 * Records come in the order of no clock, as several lanes write them: they are sorted once, at the
 * end. A file may say anything: counters that fall within a thread are taken as not having moved.
 */
#include "trace/intervals.h"

#include <stdlib.h>

#include "base/vec.h"
#include "trace/threads.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static bool began_off(const struct bp_trace_reader *reader)
{
	return (reader->header.flags_skippable & BP_HEADER_DORMANT) != 0;
}

void bp_trace_intervals_note(struct bp_trace_reader *reader, uint64_t interval)
{
	if (interval == 0)
		return;
	reader->interval_max = larger(reader->interval_max, interval);
	if (reader->interval_min == 0 || interval < reader->interval_min)
		reader->interval_min = interval;
}

bool bp_trace_intervals_add(struct bp_trace_reader *reader, const struct bp_trace_interval *change)
{
	if (change->thread == 0)
		return true;
	if (!bp_vec_reserve(&reader->switches, &reader->switch_capacity, reader->switch_count + 1u,
		    sizeof *reader->switches))
		return false;
	reader->switches[reader->switch_count++] = (struct bp_trace_switch){ .change = *change };
	return true;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By thread, then by the counters; several changes between two objects by their sequence. */
static int compare_switches(const void *left, const void *right)
{
	const struct bp_trace_interval *a = &((const struct bp_trace_switch *)left)->change;
	const struct bp_trace_interval *b = &((const struct bp_trace_switch *)right)->change;
	int order = compare(a->thread, b->thread);
	order = order != 0 ? order : compare(a->trials, b->trials);
	order = order != 0 ? order : compare(a->objects, b->objects);
	order = order != 0 ? order : compare(a->sequence, b->sequence);
	order = order != 0 ? order : compare(a->time_ns, b->time_ns);
	order = order != 0 ? order : compare(a->command, b->command);
	return order != 0 ? order : compare(a->interval, b->interval);
}

/* The number of the first change that comes after every change of a smaller thread, and of this
 * thread up to `bytes` or `objects`, whichever is looked at. */
static uint32_t first_after(
	const struct bp_trace_reader *reader, uint32_t thread, bool by_bytes, uint64_t value)
{
	uint32_t low = 0, high = reader->switch_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct bp_trace_switch *at = &reader->switches[middle];
		const uint64_t reached = by_bytes ? at->bytes : at->objects;
		if (at->change.thread < thread || (at->change.thread == thread && reached <= value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t off_of(
	const struct bp_trace_reader *reader, uint32_t thread, bool by_bytes, uint64_t value)
{
	const uint32_t after = first_after(reader, thread, by_bytes, value);
	const struct bp_trace_switch *last = after == 0 ? NULL : &reader->switches[after - 1];
	if (last == NULL || last->change.thread != thread)
		return began_off(reader) ? value : 0;
	const uint64_t reached = by_bytes ? last->bytes : last->objects;
	const uint64_t off = by_bytes ? last->off_bytes : last->off_objects;
	return last->change.interval == 0 ? off + (value - reached) : off;
}

uint64_t bp_trace_reader_off_bytes(
	const struct bp_trace_reader *reader, uint32_t ordinal, uint64_t bytes)
{
	return off_of(reader, ordinal, true, bytes);
}

uint64_t bp_trace_reader_off_objects(
	const struct bp_trace_reader *reader, uint32_t ordinal, uint64_t objects)
{
	return off_of(reader, ordinal, false, objects);
}

uint32_t bp_trace_reader_first_switch(const struct bp_trace_reader *reader, uint32_t ordinal)
{
	return ordinal == 0 ? 0 : first_after(reader, ordinal - 1, true, UINT64_MAX);
}

bool bp_trace_intervals_outage(struct bp_trace_reader *reader, const struct bp_trace_outage *outage)
{
	if (!bp_vec_reserve(&reader->outages, &reader->outage_capacity, reader->outage_count + 1u,
		    sizeof *reader->outages))
		return false;
	reader->outages[reader->outage_count++] = *outage;
	return true;
}

bool bp_trace_intervals_last_outage(struct bp_trace_reader *reader)
{
	const uint64_t since_ns = reader->state.outage_since_ns;
	bool ended = since_ns == 0;
	for (uint32_t i = 0; i < reader->outage_count && !ended; i++)
		ended = reader->outages[i].from_ns >= since_ns;
	if (ended)
		return true;
	for (uint32_t i = 0; i < BP_OUTAGE_STOPS; i++) {
		const struct bp_trace_stop *stop = &reader->state.stops[i];
		const struct bp_trace_interval change = { .time_ns = since_ns,
			.sequence = UINT64_MAX,
			.trials = stop->trials,
			.objects = stop->objects,
			.thread = (uint32_t)stop->ordinal };
		if (stop->ordinal <= UINT32_MAX && !bp_trace_intervals_add(reader, &change))
			return false;
	}
	const struct bp_trace_outage last = { since_ns, UINT64_MAX };
	return bp_trace_intervals_outage(reader, &last);
}

/* What a thread had made, and of that off, when it came to this change. `before`: the change before
 * it of the same thread, or NULL. */
static void reach(const struct bp_trace_reader *reader, const struct bp_trace_switch *before,
	struct bp_trace_switch *now)
{
	const struct bp_trace_interval *change = &now->change;
	const struct bp_trace_switch birth = { .change.interval = began_off(reader) ? 0 : 1 };
	const struct bp_trace_switch *from = before != NULL ? before : &birth;
	const bool off = from->change.interval == 0;
	now->bytes =
		larger(from->bytes, bp_trace_bytes_of(reader, change->trials, change->objects));
	now->objects = larger(from->objects, change->objects);
	now->off_bytes = from->off_bytes + (off ? now->bytes - from->bytes : 0);
	now->off_objects = from->off_objects + (off ? now->objects - from->objects : 0);
}

/* In an outage that went on at the end (3.9) a thread that was on before may have stopped anywhere
 * behind its last record. */
static bool may_have_stopped(
	const struct bp_trace_reader *reader, const struct bp_trace_thread *thread)
{
	const uint32_t count = reader->outage_count;
	const uint32_t ordinal = (uint32_t)thread->ordinal;
	if (count == 0 || reader->outages[count - 1].to_ns != UINT64_MAX || thread->ended)
		return false;
	const uint32_t after = first_after(reader, ordinal, true, UINT64_MAX);
	const struct bp_trace_switch *last = after == 0 ? NULL : &reader->switches[after - 1];
	return last != NULL && last->change.thread == ordinal ? last->change.interval != 0
							      : !began_off(reader);
}

static void divide_thread(
	const struct bp_trace_reader *reader, struct bp_trace_thread *thread, bool by_bytes)
{
	const uint32_t ordinal = (uint32_t)thread->ordinal;
	const uint64_t low = by_bytes ? thread->bytes_low : thread->objects_low;
	const uint64_t high = by_bytes ? thread->bytes_high : thread->objects_high;
	const uint64_t off_low = off_of(reader, ordinal, by_bytes, low);
	const uint64_t off_high = off_of(reader, ordinal, by_bytes, high);
	struct bp_trace_limits on = { low - off_low, high - off_high };
	struct bp_trace_limits off = { off_low, off_high };
	if (may_have_stopped(reader, thread)) {
		const uint64_t recorded =
			by_bytes ? thread->bytes_recorded : thread->objects_recorded;
		on.low = recorded - off_of(reader, ordinal, by_bytes, recorded);
		off.high = sum_of(off.high, high - smaller(recorded, high));
	}
	*(by_bytes ? &thread->on_bytes : &thread->on_objects) = on;
	*(by_bytes ? &thread->off_bytes : &thread->off_objects) = off;
}

void bp_trace_intervals_finish(struct bp_trace_reader *reader)
{
	if (reader->switch_count > 1)
		qsort(reader->switches, reader->switch_count, sizeof *reader->switches,
			compare_switches);
	for (uint32_t i = 0; i < reader->switch_count; i++) {
		struct bp_trace_switch *now = &reader->switches[i];
		const bool first = i == 0 || now[-1].change.thread != now->change.thread;
		reach(reader, first ? NULL : now - 1, now);
	}
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		struct bp_trace_thread *thread = &reader->threads[i];
		divide_thread(reader, thread, true);
		divide_thread(reader, thread, false);
	}
}

/* Both parts of a total, as the threads have them. */
struct parts {
	struct bp_trace_limits on, off;
	bool all; /* every thread is among them, with its upper limit */
};

static void add_limits(struct bp_trace_limits *sum, struct bp_trace_limits limits)
{
	sum->low = sum_of(sum->low, limits.low);
	sum->high = sum_of(sum->high, limits.high);
}

/* One part: as its threads have it, and as the total less the other part has it. */
static struct bp_trace_limits part_of(const struct parts *parts, struct bp_trace_limits total,
	struct bp_trace_limits own, struct bp_trace_limits other)
{
	struct bp_trace_limits part = { own.low, less(total.high, other.low) };
	if (parts->all) {
		part.low = larger(part.low, less(total.low, other.high));
		part.high = smaller(part.high, own.high);
	}
	/* (Threads of a hostile file may add up to more than its total.) */
	part.low = smaller(part.low, total.high);
	part.high = larger(part.high, part.low);
	return part;
}

static void divide(const struct bp_trace_reader *reader, const struct parts *parts,
	struct bp_trace_limits total, struct bp_trace_limits *ret_on,
	struct bp_trace_limits *ret_off)
{
	bool ever_on = !began_off(reader);
	bool ever_off = !ever_on || reader->outage_count > 0;
	for (uint32_t i = 0; i < reader->switch_count && !(ever_off && ever_on); i++) {
		ever_off = ever_off || reader->switches[i].change.interval == 0;
		ever_on = ever_on || reader->switches[i].change.interval != 0;
	}
	*ret_on = *ret_off = (struct bp_trace_limits){ 0, 0 };
	if (!ever_off) {
		*ret_on = total;
	} else if (!ever_on) {
		*ret_off = total;
	} else {
		*ret_on = part_of(parts, total, parts->on, parts->off);
		*ret_off = part_of(parts, total, parts->off, parts->on);
	}
}

void bp_trace_intervals_totals(const struct bp_trace_reader *reader, struct bp_trace_totals *totals)
{
	struct parts bytes = { .all = reader->state.lost[BP_LOSS_THREAD_SLOT] == 0 &&
				      reader->state.open_trials < BP_ARMED_WITHOUT_LIMIT &&
				      bp_trace_reader_is_whole(reader) };
	struct parts objects = bytes;
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		const struct bp_trace_thread *thread = &reader->threads[i];
		bytes.all = objects.all = bytes.all && thread->published;
		add_limits(&bytes.on, thread->on_bytes);
		add_limits(&bytes.off, thread->off_bytes);
		add_limits(&objects.on, thread->on_objects);
		add_limits(&objects.off, thread->off_objects);
	}
	/* What no thread has published yet may be in either part. */
	if (!totals->exact) {
		const uint64_t unseen = bp_trace_unseen(reader);
		bytes.on.high = sum_of(bytes.on.high, unseen);
		bytes.off.high = sum_of(bytes.off.high, unseen);
		objects.on.high = sum_of(objects.on.high, unseen);
		objects.off.high = sum_of(objects.off.high, unseen);
	}
	divide(reader, &bytes, (struct bp_trace_limits){ totals->bytes_low, totals->bytes_high },
		&totals->on_bytes, &totals->off_bytes);
	divide(reader, &objects,
		(struct bp_trace_limits){ totals->objects_low, totals->objects_high },
		&totals->on_objects, &totals->off_objects);
}
