/* SPDX-License-Identifier: MIT */
/*
 * Order of events: the trace from its beginning to its end, then the counters of all threads, twice
 * in a row. What the process had allocated between the two readings is at least the first sum and
 * at most the second, where the kernel lets us read its memory; otherwise at least what was
 * published and at most that and what was armed. Threads that ended are in the trace; should one
 * end just then, all is read once more.
 */
#include "cli/control/control_status.h"

#include <string.h>

#include "base/error.h"
#include "base/clock.h"
#include "base/system_call.h"

#define TRIES 20
#define TRIES_MOST_NS 400000000u
#define GOOD_ENOUGH 256 /* trials a thread */
#define ROUNDS 3
static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct bp_following bp_following_of(
	const struct bp_trace_state *state, const struct bp_live_threads *threads)
{
	struct bp_following following = { 0 };
	for (uint32_t i = 0; i < threads->count; i++) {
		const struct bp_live_thread *thread = &threads->items[i];
		if (thread->gone)
			continue;
		following.running++;
		if (bp_control_is_followed(state, thread->slot.command)) {
			following.following++;
			continue;
		}
		following.left_max = larger(following.left_max, thread->left);
		following.left_sum += thread->left;
	}
	return following;
}

/* The counters of one thread as limits: from the two readings if it was running at both. */
static void add_thread(struct bp_status *status, const struct bp_trace_thread *thread,
	const struct bp_live_thread *before, const struct bp_live_thread *after)
{
	const uint64_t charge = status->traced->header.charge_bytes;
	if (thread->ended || before == NULL || after == NULL) {
		status->bytes.low += thread->bytes_low;
		status->bytes.high += thread->bytes_high;
		status->objects.low += thread->objects_low;
		status->objects.high += thread->objects_high;
		return;
	}
	const uint64_t low = before->trials_low - charge * before->objects_low;
	status->bytes.low += low;
	status->bytes.high += larger(low, after->trials_high - charge * before->objects_low);
	status->objects.low += before->objects_low;
	status->objects.high += larger(before->objects_low, after->objects_high);
}

/* T that a thread sampled at when the trace was read; 0: it did not. */
static uint64_t in_force(const struct bp_trace_reader *reader, uint32_t ordinal)
{
	uint64_t interval = (reader->header.flags_skippable & BP_HEADER_DORMANT) != 0
				    ? 0
				    : reader->header.interval_bytes;
	for (uint32_t i = 0; i < reader->switch_count; i++)
		if (reader->switches[i].change.thread == ordinal)
			interval = reader->switches[i].change.interval;
	return interval;
}

static void add_in_force(struct bp_status *status, uint64_t interval)
{
	if (interval == 0) {
		status->off_threads++;
		return;
	}
	if (status->in_force.low == 0 || interval < status->in_force.low)
		status->in_force.low = interval;
	status->in_force.high = larger(status->in_force.high, interval);
}

static void sum_threads(struct bp_status *status, const struct bp_trace_reader *reader,
	const struct bp_live_threads *before, const struct bp_live_threads *after)
{
	for (uint32_t i = 0; i < reader->thread_count; i++) {
		const struct bp_trace_thread *thread = &reader->threads[i];
		const uint32_t ordinal = (uint32_t)thread->ordinal;
		const struct bp_live_thread *last = bp_live_threads_find(after, ordinal);
		add_thread(status, thread, bp_live_threads_find(before, ordinal), last);
		if (last != NULL && !last->gone)
			add_in_force(status, in_force(reader, ordinal));
	}
	/* The object that a thread is in the middle of may or may not count. */
	status->bytes.high += 1;
	status->objects.high += 1;
}

/* The trace's own part: what it holds. */
static void take_state(struct bp_status *status)
{
	const struct bp_trace_state *state = status->traced->state;
	status->control = bp_control_read(state, &status->traced->header);
	status->samples = __atomic_load_n(&state->samples, __ATOMIC_RELAXED);
	status->file_bytes =
		__atomic_load_n(&state->chunks_reserved, __ATOMIC_RELAXED) * BP_CHUNK_BYTES;
	status->window = bp_schedule_of(status->traced);
	const uint64_t now = bp_clock_machine_ns() + status->traced->header.clock_offset_ns;
	const uint64_t since = __atomic_load_n(&state->outage_since_ns, __ATOMIC_RELAXED);
	status->uptime_ns = now - status->traced->header.start_monotonic_ns;
	status->outage_ns = since == 0 ? 0 : since < now ? now - since : 1;
	for (int i = 0; i < BP_LOSS_MAX; i++)
		status->lost[i] = __atomic_load_n(&state->lost[i], __ATOMIC_RELAXED);
}

/* How many samples have no free yet: of those read, so that both are of one moment. A free of an
 * object inherited from the parent is none of them. */
static bool read_through(
	struct bp_trace_reader *reader, struct bp_status *status, struct bp_error *error)
{
	struct bp_trace_record record;
	enum bp_trace_next next;
	uint64_t freed = 0;
	while ((next = bp_trace_reader_next(reader, &record, error)) == BP_TRACE_RECORD)
		freed += record.tag == BP_TAG_FREE &&
			 record.free.sample_sequence > reader->header.parent_sequence;
	status->live_samples = reader->samples > freed ? reader->samples - freed : 0;
	return next == BP_TRACE_END;
}

/* Two readings of all threads, as near to each other as a few tries make them. */
static bool read_counters(const struct bp_traced *traced, struct bp_live_threads *ret_before,
	struct bp_live_threads *ret_after, struct bp_error *error)
{
	const uint64_t deadline_ns = bp_system_time_ns(CLOCK_MONOTONIC) + TRIES_MOST_NS;
	for (int i = 0; i < TRIES && (i == 0 || bp_system_time_ns(CLOCK_MONOTONIC) < deadline_ns);
		i++) {
		uint64_t open = 0;
		if (!bp_live_threads_read(traced, true, ret_before, error) ||
			!bp_live_threads_read(traced, true, ret_after, error))
			return false;
		for (uint32_t j = 0; j < ret_after->count; j++) {
			const struct bp_live_thread *after = &ret_after->items[j],
						    *before = bp_live_threads_find(
							    ret_before, after->slot.ordinal);
			open += after->trials_high - (before != NULL ? before->trials_low : 0);
		}
		if (open <= (uint64_t)GOOD_ENOUGH * ret_after->count || ret_after->refused != 0)
			break;
	}
	return true;
}

/* Did a thread that the file shows as running end after it was read? What it did last is then not
 * known. */
static bool any_ended(const struct bp_trace_reader *reader, const struct bp_live_threads *threads)
{
	for (uint32_t i = 0; i < reader->thread_count; i++)
		if (!reader->threads[i].ended && reader->threads[i].published &&
			bp_live_threads_find(threads, (uint32_t)reader->threads[i].ordinal) == NULL)
			return true;
	return false;
}

bool bp_status_read(
	const struct bp_traced *traced, struct bp_status *ret_status, struct bp_error *error)
{
	struct bp_status status = { .traced = traced };
	struct bp_live_threads before = { 0 }, after = { 0 };
	struct bp_trace_reader reader = { 0 };
	bool good = false;
	for (int i = 0; i < ROUNDS; i++) {
		bp_trace_reader_close(&reader);
		reader = (struct bp_trace_reader){ 0 };
		good = bp_trace_reader_open(&reader, traced->path, error) &&
		       read_through(&reader, &status, error) &&
		       read_counters(traced, &before, &after, error);
		if (!good || !any_ended(&reader, &after))
			break;
	}
	if (good) {
		take_state(&status);
		status.following = bp_following_of(traced->state, &after);
		status.current = before.current == before.count && after.current == after.count;
		status.refused = after.refused;
		sum_threads(&status, &reader, &before, &after);
		*ret_status = status;
	}
	bp_trace_reader_close(&reader);
	bp_live_threads_finish(&before);
	bp_live_threads_finish(&after);
	return good;
}
