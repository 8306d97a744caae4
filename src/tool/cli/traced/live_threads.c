/* SPDX-License-Identifier: MIT */
/*
 * One thread: [generation even, slot, words, words again, generation the same]. The slot says how
 * many trials the thread had made when the countdown was set to `armed`; the first word says what
 * is left of it, so that trials now = trials + armed - left; the second word counts objects. The
 * recorder publishes a slot before it lets the countdown run, so that words read between two equal
 * generations belong to it. A thread inside the recorder has a countdown beyond all bounds: it is
 * looked at again a moment later, and taken as published if it stays there. Moments are waited for
 * all such threads at once: of a process that is stopped hundreds may be there.
 *
 * A running thread changes its words between our reads, and an object is counted one instruction
 * before its trials. So trials come from the first read and objects from the second where low
 * limits are wanted: every counter only grows, so each is a low limit from the moment of the second
 * read on, and so is trials - objects.
 *
 * A thread may have ended without the recorder's knowledge (raw clone), and its memory may be
 * somebody else's. It is known by its id, and by words that cannot be: it is taken as published
 * then.
 */
#include "cli/traced/live_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/system_call.h"
#include "base/vec.h"

#define ATTEMPTS 200
#define ATTEMPTS_WITHOUT_REST 20
#define REST_US 100
#define RESTS_MOST_NS 100000000u /* all of them, where there are so many threads */
#define LOOK_BACK 64		 /* chunks */
/* Objects counted whose trials are not, at the moment of a read: one a thread, and one more by the
 * signal handler that interrupted it. */
#define IN_FLIGHT 2

/* The two words at slot.hot_address. */
struct words {
	uint64_t left, objects;
};

struct reading {
	const struct bp_traced *traced;
	struct bp_live_threads *threads;
	bool memory; /* may still be read */
};

static bool read_at(const struct bp_traced *traced, void *data, size_t bytes, uint64_t offset)
{
	return pread(traced->descriptor, data, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_words(struct reading *reading, uint64_t address, struct words *ret_words)
{
	struct iovec local = { ret_words, sizeof *ret_words };
	struct iovec remote = { (void *)(uintptr_t)address, sizeof *ret_words };
	if (!reading->memory)
		return false;
	if (process_vm_readv(reading->traced->pid, &local, 1, &remote, 1, 0) ==
		(ssize_t)sizeof *ret_words)
		return true;
	if (errno == EPERM || errno == ENOSYS || errno == EACCES) {
		reading->threads->refused = errno;
		reading->memory = false;
	}
	return false;
}

/* Could the words be of the thread whose slot this is? */
static bool are_possible(
	const struct bp_thread_slot *slot, const struct words *first, const struct words *second)
{
	const uint64_t made = slot->armed - second->left;
	return first->left <= slot->armed && second->left <= first->left &&
	       first->objects >= slot->objects && second->objects >= first->objects &&
	       second->objects - slot->objects <= made + IN_FLIGHT;
}

static void take_published(struct bp_live_thread *thread)
{
	const struct bp_thread_slot *slot = &thread->slot;
	thread->current = false;
	thread->trials_low = slot->trials;
	thread->trials_high = slot->trials + slot->armed;
	thread->objects_low = slot->objects;
	thread->objects_high = slot->objects + slot->armed;
	thread->left = slot->armed;
}

static void take_words(
	struct bp_live_thread *thread, const struct words *first, const struct words *second)
{
	const struct bp_thread_slot *slot = &thread->slot;
	thread->current = true;
	thread->trials_low = slot->trials + (slot->armed - first->left);
	thread->trials_high = slot->trials + (slot->armed - second->left);
	thread->objects_low = thread->objects_high = second->objects;
	thread->left = second->left;
}

enum outcome { SETTLED, MOVED, UNUSED };

/* One attempt at a thread. MOVED: it was in the middle of something. */
static enum outcome attempt(struct reading *reading, struct bp_live_thread *thread)
{
	struct bp_thread_slot *slot = &thread->slot, again;
	struct words first, second;
	if (!read_at(reading->traced, slot, sizeof *slot, thread->offset))
		return UNUSED;
	if (slot->state != 1 || slot->ordinal == 0)
		return UNUSED;
	take_published(thread);
	bool known = slot->generation % 2 == 0 && read_words(reading, slot->hot_address, &first) &&
		     read_words(reading, slot->hot_address, &second);
	if (!read_at(reading->traced, &again, sizeof again, thread->offset))
		return UNUSED;
	if (slot->generation % 2 != 0 || again.generation != slot->generation ||
		again.ordinal != slot->ordinal || again.state != 1 || again.armed != slot->armed ||
		again.trials != slot->trials)
		return MOVED;
	if (!known)
		return SETTLED;
	if (first.left > BP_LOOK_MAX || second.left > BP_LOOK_MAX)
		return MOVED;
	if (are_possible(slot, &first, &second))
		take_words(thread, &first, &second);
	return SETTLED;
}

/* A few attempts in a row. */
static enum outcome settle(struct reading *reading, struct bp_live_thread *thread)
{
	enum outcome outcome = MOVED;
	for (int i = 0; i < ATTEMPTS_WITHOUT_REST && outcome == MOVED; i++)
		outcome = attempt(reading, thread);
	return outcome;
}

/* Is there such a thread? Only known where its id is one of our namespace. */
static bool is_gone(const struct bp_traced *traced, uint32_t tid)
{
	char path[64];
	if (!traced->own_namespace)
		return false;
	snprintf(path, sizeof path, "/proc/%ld/task/%u", (long)traced->pid, tid);
	return access(path, F_OK) != 0 && errno == ENOENT;
}

static bool read_slot(struct reading *reading, uint64_t offset)
{
	struct bp_live_threads *threads = reading->threads;
	struct bp_live_thread thread = { .offset = offset };
	const enum outcome outcome = settle(reading, &thread);
	if (outcome == UNUSED)
		return true;
	thread.moved = outcome == MOVED;
	if (!bp_vec_reserve(&threads->items, &threads->capacity, threads->count + 1u,
		    sizeof *threads->items))
		return false;
	threads->items[threads->count++] = thread;
	return true;
}

/* One more attempt at every thread that moved; how many still do. */
static uint32_t attempt_moved(struct reading *reading)
{
	struct bp_live_threads *threads = reading->threads;
	uint32_t kept = 0, moved = 0;
	for (uint32_t i = 0; i < threads->count; i++) {
		struct bp_live_thread *thread = &threads->items[i];
		if (thread->moved) {
			const enum outcome outcome = attempt(reading, thread);
			if (outcome == UNUSED)
				continue;
			thread->moved = outcome == MOVED;
			moved += thread->moved;
		}
		threads->items[kept++] = *thread;
	}
	threads->count = kept;
	return moved;
}

/* Gives those in the middle of something the time to come out of it. */
static void settle_moved(struct reading *reading)
{
	const uint64_t deadline_ns = bp_system_time_ns(CLOCK_MONOTONIC) + RESTS_MOST_NS;
	uint32_t moved = 0;
	for (uint32_t i = 0; i < reading->threads->count; i++)
		moved += reading->threads->items[i].moved;
	for (int i = ATTEMPTS_WITHOUT_REST; i < ATTEMPTS && moved > 0; i++) {
		if (bp_system_time_ns(CLOCK_MONOTONIC) >= deadline_ns)
			break;
		usleep(REST_US);
		moved = attempt_moved(reading);
	}
}

static void drop_gone(struct reading *reading)
{
	for (uint32_t i = 0; i < reading->threads->count; i++) {
		struct bp_live_thread *thread = &reading->threads->items[i];
		thread->gone = is_gone(reading->traced, thread->slot.tid);
		if (thread->gone && thread->current)
			take_published(thread);
	}
}

/* The slots in use of one chunk. */
static bool read_slots(struct reading *reading, uint64_t offset, size_t count)
{
	static struct bp_thread_slot slots[BP_SLOTS_IN_CHUNK];
	if (!read_at(reading->traced, slots, count * sizeof *slots, offset))
		return true; /* cut off: nobody uses it */
	for (size_t i = 0; i < count; i++)
		if (slots[i].state == 1 && !read_slot(reading, offset + i * sizeof *slots))
			return false;
	return true;
}

static bool is_known(const struct bp_live_threads *threads, uint64_t number)
{
	for (uint32_t i = 0; i < threads->chunk_count; i++)
		if (threads->chunks[i] == number)
			return true;
	return false;
}

/* Looks for chunks with slots among those handed out since the last call, and the few before that
 * may not have been begun then. */
static bool find_chunks(const struct bp_traced *traced, struct bp_live_threads *threads)
{
	const uint64_t count = __atomic_load_n(&traced->state->chunks_reserved, __ATOMIC_ACQUIRE);
	uint64_t number = threads->chunks_seen > LOOK_BACK ? threads->chunks_seen - LOOK_BACK : 1;
	for (; number < count; number++) {
		struct bp_chunk_header header;
		if (!read_at(traced, &header, sizeof header, number * BP_CHUNK_BYTES))
			break;
		if (header.magic != BP_CHUNK_MAGIC || header.kind != BP_CHUNK_THREADS ||
			is_known(threads, number))
			continue;
		if (!bp_vec_reserve(&threads->chunks, &threads->chunk_capacity,
			    threads->chunk_count + 1u, sizeof *threads->chunks))
			return false;
		threads->chunks[threads->chunk_count++] = number;
	}
	threads->chunks_seen = number;
	return true;
}

/* Where several slots name the same words, they are those of the thread that began last. */
static void drop_stale_words(struct bp_live_threads *threads)
{
	for (uint32_t i = 0; i < threads->count; i++) {
		struct bp_live_thread *thread = &threads->items[i];
		threads->current += thread->current;
		for (uint32_t j = 0; thread->current && j < threads->count; j++) {
			const struct bp_thread_slot *other = &threads->items[j].slot;
			if (other->hot_address != thread->slot.hot_address ||
				other->ordinal <= thread->slot.ordinal)
				continue;
			take_published(thread);
			thread->gone = true;
			threads->current--;
		}
	}
}

bool bp_live_threads_read(const struct bp_traced *traced, bool memory,
	struct bp_live_threads *threads, struct bp_error *error)
{
	struct reading reading = { traced, threads, memory };
	threads->count = threads->current = 0;
	threads->refused = 0;
	if (!find_chunks(traced, threads) ||
		!read_slots(&reading, BP_SLOTS_OFFSET, BP_SLOTS_IN_FIRST))
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < threads->chunk_count; i++) {
		const uint64_t offset = threads->chunks[i] * BP_CHUNK_BYTES;
		if (!read_slots(
			    &reading, offset + sizeof(struct bp_chunk_header), BP_SLOTS_IN_CHUNK))
			return bp_error_set(error, "out of memory");
	}
	settle_moved(&reading);
	drop_gone(&reading);
	drop_stale_words(threads);
	if (bp_traced_is_cut(traced))
		return bp_error_set(
			error, "%s was cut off while its process wrote it", traced->path);
	return true;
}

const struct bp_live_thread *bp_live_threads_find(
	const struct bp_live_threads *threads, uint32_t ordinal)
{
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->items[i].slot.ordinal == ordinal)
			return &threads->items[i];
	return NULL;
}

void bp_live_threads_finish(struct bp_live_threads *threads)
{
	free(threads->items);
	free(threads->chunks);
	*threads = (struct bp_live_threads){ 0 };
}
