/* SPDX-License-Identifier: MIT */
/*
 * Totals by thread (docs/trace-format.md 1.6). A process that ended in order left exact totals; of
 * any other the truth lies between what its threads published and that plus what they were armed
 * with. Three sources say something about a thread:
 *
 *	slot          published counters and `armed`: both limits
 *	THREAD END    the final counters: exact, overrides the slot, but for one with larger counters
 *	              (of a host's thread that went on)
 *	sample, free  counters at that moment: a lower limit, perhaps newer than the slot
 *
 * A trial counter and an object counter only grow, and so do the bytes between them, so of several
 * lower limits the largest holds, whichever source it came from and whenever it was read. That is
 * what makes a running process readable: slots are read once before the records and once after, and
 * a thread that ends in between is found by its END.
 *
 * A slot is a sequence lock: [generation is even and the same before and after the fields]. Two
 * reads of the whole block settle nearly all slots; the others are read again one by one. A slot
 * that stays odd belongs to a thread killed while it published: its values are taken, as each of
 * them was true once, but its upper limit may be too low, and it is counted in `torn_slots`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/intervals.h"
#include "trace/threads.h"

#define SLOT_READS_MAX 64

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t bytes_of(
	const struct bp_trace_reader *reader, uint64_t trials, uint64_t objects)
{
	uint64_t charged;
	if (__builtin_mul_overflow(objects, (uint64_t)reader->header.charge_bytes, &charged))
		return 0;
	return trials > charged ? trials - charged : 0;
}

uint64_t bp_trace_bytes_of(const struct bp_trace_reader *reader, uint64_t trials, uint64_t objects)
{
	return bytes_of(reader, trials, objects);
}

static struct bp_index_keys thread_keys(const struct bp_trace_reader *reader)
{
	return (struct bp_index_keys){ reader->threads, sizeof *reader->threads };
}

static struct bp_trace_thread *find_thread(struct bp_trace_reader *reader, uint32_t ordinal)
{
	uint32_t found = bp_index_find(&reader->thread_index, thread_keys(reader), ordinal);
	if (found == BP_INDEX_NONE) {
		if (!bp_vec_reserve(&reader->threads, &reader->thread_capacity,
			    reader->thread_count + 1u, sizeof *reader->threads))
			return NULL;
		found = reader->thread_count;
		reader->threads[found] = (struct bp_trace_thread){ .ordinal = ordinal };
		if (!bp_index_add(&reader->thread_index, thread_keys(reader), found))
			return NULL;
		reader->thread_count++;
	}
	reader->thread_last = found;
	return &reader->threads[found];
}

/* The entry of a thread, made if need be; NULL: no memory. */
static inline struct bp_trace_thread *thread_of(struct bp_trace_reader *reader, uint32_t ordinal)
{
	if (reader->thread_last < reader->thread_count &&
		reader->threads[reader->thread_last].ordinal == ordinal)
		return &reader->threads[reader->thread_last];
	return find_thread(reader, ordinal);
}

static inline void raise_to(uint64_t *low, uint64_t *high, uint64_t value)
{
	if (value <= *low)
		return;
	*low = value;
	if (*high < value)
		*high = value;
}

/* Raises the lower limits to counters that were true at some moment; [upper ones never lie
 * below]. */
static inline void raise(
	struct bp_trace_thread *thread, uint64_t trials, uint64_t objects, uint64_t bytes)
{
	raise_to(&thread->trials_low, &thread->trials_high, trials);
	raise_to(&thread->objects_low, &thread->objects_high, objects);
	raise_to(&thread->bytes_low, &thread->bytes_high, bytes);
}

/* The same, of counters that stand in a record. */
static inline void raise_recorded(
	struct bp_trace_thread *thread, uint64_t trials, uint64_t objects, uint64_t bytes)
{
	thread->bytes_recorded = larger(thread->bytes_recorded, bytes);
	thread->objects_recorded = larger(thread->objects_recorded, objects);
	raise(thread, trials, objects, bytes);
}

static bool take_slot(struct bp_trace_reader *reader, const struct bp_thread_slot *slot)
{
	struct bp_trace_thread *thread;
	if (slot->state != 1 || slot->ordinal == 0)
		return true;
	thread = thread_of(reader, slot->ordinal);
	if (thread == NULL)
		return false;
	thread->slot_trials = larger(thread->slot_trials, slot->trials);
	thread->slot_objects = larger(thread->slot_objects, slot->objects);
	raise(thread, slot->trials, slot->objects, bytes_of(reader, slot->trials, slot->objects));
	thread->published = true;
	thread->tid = slot->tid;
	thread->trials_high = larger(thread->trials_high, add_saturated(slot->trials, slot->armed));
	thread->objects_high =
		larger(thread->objects_high, add_saturated(slot->objects, slot->armed));
	thread->bytes_high = larger(thread->bytes_high,
		add_saturated(bp_trace_bytes_of(reader, slot->trials, slot->objects), slot->armed));
	thread->unoffered_trials = larger(thread->unoffered_trials, slot->unoffered_trials);
	thread->unoffered_objects = larger(thread->unoffered_objects, slot->unoffered_objects);
	return true;
}

/* Reads one slot until it holds still; false: it does not. */
static bool settle_slot(
	const struct bp_trace_reader *reader, uint64_t offset, struct bp_thread_slot *slot)
{
	for (int i = 0; i < SLOT_READS_MAX; i++) {
		struct bp_thread_slot again;
		bp_trace_read_at(reader, slot, sizeof *slot, offset);
		bp_trace_read_at(reader, &again, sizeof again, offset);
		if (slot->generation % 2 == 0 && slot->generation == again.generation)
			return true;
	}
	return false;
}

static bool take_slots(struct bp_trace_reader *reader, uint64_t offset, uint32_t count)
{
	const size_t bytes = count * sizeof(struct bp_thread_slot);
	uint8_t *first = reader->memory + BP_HEADER_MAX_BYTES, *second = first + BP_CHUNK_BYTES;
	bp_trace_read_at(reader, first, bytes, offset);
	bp_trace_read_at(reader, second, bytes, offset);
	for (uint32_t i = 0; i < count; i++) {
		const size_t at = i * sizeof(struct bp_thread_slot);
		struct bp_thread_slot slot, again;
		memcpy(&slot, first + at, sizeof slot);
		memcpy(&again, second + at, sizeof again);
		if ((slot.generation % 2 != 0 || slot.generation != again.generation) &&
			!settle_slot(reader, offset + at, &slot))
			reader->torn_slots++;
		if (!take_slot(reader, &slot))
			return false;
	}
	return true;
}

bool bp_trace_threads_slots(struct bp_trace_reader *reader, uint64_t offset, uint32_t count)
{
	if (!bp_vec_reserve(&reader->slot_chunks, &reader->slot_chunk_capacity,
		    reader->slot_chunk_count + 1u, sizeof *reader->slot_chunks))
		return false;
	reader->slot_chunks[reader->slot_chunk_count++] = offset;
	return take_slots(reader, offset, count);
}

bool bp_trace_threads_event(
	struct bp_trace_reader *reader, const struct bp_trace_thread_event *event, bool end)
{
	struct bp_trace_thread *thread;
	if (event->ordinal == 0)
		return true;
	thread = thread_of(reader, event->ordinal);
	if (thread == NULL)
		return false;
	thread->tid = event->tid;
	if (!end || (thread->ended && event->trials <= thread->end.trials))
		return true;
	thread->ended = thread->published = true;
	thread->end = *event;
	thread->end.name = (struct bp_trace_text){ NULL, 0 };
	return true;
}

/* All is read. The end of a thread overrides whatever else was said of it, but for a slot with
 * larger counters: it went on. */
static void settle_end(const struct bp_trace_reader *reader, struct bp_trace_thread *thread)
{
	const struct bp_trace_thread_event *end = &thread->end;
	const uint64_t bytes = bytes_of(reader, end->trials, end->objects);
	if (thread->slot_trials > end->trials || thread->slot_objects > end->objects) {
		thread->ended = false;
		raise(thread, end->trials, end->objects, bytes);
		return;
	}
	thread->trials_low = thread->trials_high = end->trials;
	thread->objects_low = thread->objects_high = end->objects;
	thread->bytes_low = thread->bytes_high = bytes;
	thread->unoffered_trials = end->unoffered_trials;
	thread->unoffered_objects = end->unoffered_objects;
	thread->end_time_ns = end->time_ns;
}

bool bp_trace_threads_seen(
	struct bp_trace_reader *reader, uint32_t ordinal, uint64_t trials, uint64_t objects)
{
	struct bp_trace_thread *thread;
	if (ordinal == 0)
		return true;
	thread = thread_of(reader, ordinal);
	if (thread == NULL)
		return false;
	raise_recorded(thread, trials, objects, bytes_of(reader, trials, objects));
	return true;
}

bool bp_trace_threads_seen_all(
	struct bp_trace_reader *reader, const struct bp_trace_record *records, uint32_t count)
{
	for (uint32_t i = 0; i < count;) {
		const uint32_t ordinal = records[i].sample.thread;
		uint64_t trials = 0, objects = 0, bytes = 0;
		for (; i < count && records[i].sample.thread == ordinal; i++) {
			const struct bp_trace_sample *seen = &records[i].sample;
			trials = larger(trials, seen->trials);
			objects = larger(objects, seen->objects);
			bytes = larger(bytes, bytes_of(reader, seen->trials, seen->objects));
		}
		struct bp_trace_thread *thread = ordinal == 0 ? NULL : thread_of(reader, ordinal);
		if (thread == NULL && ordinal != 0)
			return false;
		if (thread != NULL)
			raise_recorded(thread, trials, objects, bytes);
	}
	return true;
}

bool bp_trace_threads_finish(struct bp_trace_reader *reader)
{
	reader->torn_slots = 0;
	for (uint32_t i = 0; i < reader->slot_chunk_count; i++) {
		bool first = reader->slot_chunks[i] == BP_SLOTS_OFFSET;
		if (!take_slots(reader, reader->slot_chunks[i],
			    first ? BP_SLOTS_IN_FIRST : BP_SLOTS_IN_CHUNK))
			return false;
	}
	for (uint32_t i = 0; i < reader->thread_count; i++)
		if (reader->threads[i].ended)
			settle_end(reader, &reader->threads[i]);
	return true;
}

uint64_t bp_trace_unseen(const struct bp_trace_reader *reader)
{
	return reader->state.unmarked_fork ? BP_LOOK_MAX : 1;
}

/* May threads be missing, or the ends of some? A record that is not there may have been the begin
 * or the end of a thread; and how much a thread without slot and end made is not known. (A thread
 * for which there was no slot is counted as a loss.) */
static bool threads_are_missing(const struct bp_trace_reader *reader)
{
	const bool counted = reader->state.lost[BP_LOSS_THREAD_SLOT] > 0;
	for (uint32_t i = 0; i < reader->thread_count && !counted; i++)
		if (!reader->threads[i].published)
			return true;
	return !bp_trace_reader_is_whole(reader);
}

/* What the end of a process says that all its threads have made; false: nothing, or less than is
 * known of them. (A thread may have gone on behind the end; and in a host's trace there are threads
 * that it does not know.) */
static bool take_end(const struct bp_trace_reader *reader, struct bp_trace_totals *totals)
{
	const struct bp_trace_state *state = &reader->state;
	const uint64_t bytes = bytes_of(reader, state->end_trials, state->end_objects);
	if (state->state != 1 || totals->trials_low > state->end_trials ||
		totals->objects_low > state->end_objects || totals->bytes_low > bytes)
		return false;
	totals->exact = !state->unmarked_fork && state->open_trials == 0;
	totals->trials_low = state->end_trials;
	totals->objects_low = state->end_objects;
	totals->bytes_low = bytes;
	totals->trials_high = add_saturated(state->end_trials, state->open_trials);
	totals->objects_high = add_saturated(state->end_objects, state->open_trials);
	totals->bytes_high = add_saturated(bytes, state->open_trials);
	return true;
}

struct bp_trace_totals bp_trace_reader_totals(const struct bp_trace_reader *reader)
{
	const struct bp_trace_state *state = &reader->state;
	struct bp_trace_totals totals = { .exact = false };
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		const struct bp_trace_thread *thread = &reader->threads[i];
		totals.trials_low = add_saturated(totals.trials_low, thread->trials_low);
		totals.trials_high = add_saturated(totals.trials_high, thread->trials_high);
		totals.objects_low = add_saturated(totals.objects_low, thread->objects_low);
		totals.objects_high = add_saturated(totals.objects_high, thread->objects_high);
		totals.bytes_low = add_saturated(totals.bytes_low, thread->bytes_low);
		totals.bytes_high = add_saturated(totals.bytes_high, thread->bytes_high);
		totals.unoffered_trials =
			add_saturated(totals.unoffered_trials, thread->unoffered_trials);
		totals.unoffered_objects =
			add_saturated(totals.unoffered_objects, thread->unoffered_objects);
	}
	if (!take_end(reader, &totals) && threads_are_missing(reader)) {
		totals.trials_high = totals.objects_high = totals.bytes_high = UINT64_MAX;
	} else if (!totals.exact) {
		const uint64_t unseen = bp_trace_unseen(reader);
		totals.trials_high = add_saturated(totals.trials_high, unseen);
		totals.objects_high = add_saturated(totals.objects_high, unseen);
		totals.bytes_high = add_saturated(totals.bytes_high, unseen);
	}
	totals.unoffered_trials = larger(totals.unoffered_trials, state->unoffered_trials);
	totals.unoffered_objects = larger(totals.unoffered_objects, state->unoffered_objects);
	bp_trace_intervals_totals(reader, &totals);
	return totals;
}
