/* SPDX-License-Identifier: MIT */
/*
 * See threads.h. A slot is a sequence lock: [generation is even and the same before and after the
 * fields]. How far a host's thread has counted beyond the counters that it reported is not known,
 * so `armed` says that there is no limit, until the thread reports its end. The totals of a process
 * that was killed, and of one that ended while a thread had not reported its end, have lower limits
 * alone.
 */
#include "host/threads.h"

#include "base/attributes.h"

static struct bp_host_thread *thread_of(struct bp_host_threads *threads, uint32_t ordinal)
{
	if (ordinal == 0 || ordinal > __atomic_load_n(&threads->count, __ATOMIC_ACQUIRE))
		return NULL;
	return &threads->pages[(ordinal - 1) / BP_HOST_THREADS_IN_PAGE]
			      [(ordinal - 1) % BP_HOST_THREADS_IN_PAGE];
}

/* The thread is locked. */
static void store_slot(const struct bp_host_thread *thread, uint64_t armed)
{
	struct bp_thread_slot *slot = thread->slot;
	if (slot == NULL)
		return;
	const uint16_t generation = slot->generation;
	__atomic_store_n(&slot->generation, (uint16_t)(generation + 1), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	slot->trials = thread->trials;
	slot->objects = thread->objects;
	slot->armed = armed;
	__atomic_store_n(&slot->generation, (uint16_t)(generation + 2), __ATOMIC_RELEASE);
}

/* One whose slot was kept for good has it still. */
static void take_slot(struct bp_host_thread *thread, struct bp_writer *writer, uint32_t ordinal)
{
	if (thread->slot == NULL)
		thread->slot = bp_writer_take_slot(writer);
	if (thread->slot == NULL)
		return;
	thread->slot->tid = thread->tid;
	thread->slot->armed = BP_ARMED_WITHOUT_LIMIT;
	thread->slot->command = (uint16_t)thread->command;
	__atomic_store_n(&thread->slot->ordinal, ordinal, __ATOMIC_RELEASE);
}

/* Locked. NULL: no room. */
static struct bp_host_thread *add_place(
	struct bp_host_threads *threads, struct bp_host_memory *memory)
{
	const uint32_t page = threads->count / BP_HOST_THREADS_IN_PAGE;
	if (page >= BP_HOST_THREAD_PAGES)
		return NULL;
	if (threads->pages[page] == NULL)
		threads->pages[page] = bp_host_allocate(
			memory, BP_HOST_THREADS_IN_PAGE * sizeof(struct bp_host_thread));
	if (threads->pages[page] == NULL)
		return NULL;
	return &threads->pages[page][threads->count % BP_HOST_THREADS_IN_PAGE];
}

uint32_t bp_host_threads_add(struct bp_host_threads *threads, struct bp_host_memory *memory,
	struct bp_writer *writer, const char *name)
{
	const uint32_t tid = bp_system_tid();
	uint32_t ordinal = 0;
	bp_lock_take(&threads->lock);
	struct bp_host_thread *thread = add_place(threads, memory);
	if (thread != NULL) {
		ordinal = threads->count + 1;
		thread->tid = tid;
		take_slot(thread, writer, ordinal);
		__atomic_store_n(&threads->count, ordinal, __ATOMIC_RELEASE);
	}
	bp_lock_release(&threads->lock);
	if (ordinal == 0) {
		bp_writer_lost(writer, BP_LOSS_THREAD_SLOT);
		return 0;
	}
	const uint64_t values[] = { ordinal, tid, bp_system_time_ns(CLOCK_MONOTONIC) };
	(void)bp_writer_plain(writer, BP_TAG_THREAD_BEGIN, values, BP_COUNT(values), name);
	return ordinal;
}

/* Locked. Each counter by itself: neither ever goes back. */
static void raise(struct bp_host_thread *thread, struct bp_host_totals counters)
{
	if (counters.trials > thread->trials)
		thread->trials = counters.trials;
	if (counters.objects > thread->objects)
		thread->objects = counters.objects;
}

/* Has a thread that is not known made anything? No counter at the end holds it then. */
static void note_unknown(struct bp_host_threads *threads, struct bp_host_totals counters)
{
	if (counters.trials > 0 || counters.objects > 0)
		__atomic_store_n(&threads->has_unknown, true, __ATOMIC_RELAXED);
}

void bp_host_threads_publish(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters)
{
	struct bp_host_thread *thread = thread_of(threads, ordinal);
	if (thread == NULL) {
		note_unknown(threads, counters);
		return;
	}
	bp_lock_take(&thread->lock);
	if (thread->ended &&
		(counters.trials > thread->trials || counters.objects > thread->objects)) {
		thread->ended = false;
		take_slot(thread, writer, ordinal);
	}
	if (!thread->ended) {
		raise(thread, counters);
		store_slot(thread, BP_ARMED_WITHOUT_LIMIT);
	}
	bp_lock_release(&thread->lock);
}

void bp_host_threads_sampled(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters)
{
	if (thread_of(threads, ordinal) == NULL)
		__atomic_store_n(&threads->has_unknown, true, __ATOMIC_RELAXED);
	else
		bp_host_threads_publish(threads, writer, ordinal, counters);
}

void bp_host_threads_end(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters)
{
	struct bp_host_thread *thread = thread_of(threads, ordinal);
	bp_host_threads_publish(threads, writer, ordinal, counters);
	if (thread == NULL)
		return;
	bp_lock_take(&thread->lock);
	if (!thread->ended && counters.trials >= thread->trials &&
		counters.objects >= thread->objects) {
		thread->ended = true;
		store_slot(thread, 0);
		const uint64_t values[] = { ordinal, thread->tid,
			bp_system_time_ns(CLOCK_MONOTONIC), thread->trials, thread->objects, 0, 0 };
		/* Without a record the slot itself keeps the totals, for good. */
		if (bp_writer_plain(writer, BP_TAG_THREAD_END, values, BP_COUNT(values), "") &&
			thread->slot != NULL) {
			bp_writer_give_slot(writer, thread->slot);
			thread->slot = NULL;
		}
	}
	bp_lock_release(&thread->lock);
}

bool bp_host_threads_knows(struct bp_host_threads *threads, uint32_t ordinal)
{
	return thread_of(threads, ordinal) != NULL;
}

uint32_t bp_host_threads_command(struct bp_host_threads *threads, uint32_t ordinal)
{
	return __atomic_load_n(&thread_of(threads, ordinal)->command, __ATOMIC_RELAXED);
}

bool bp_host_threads_take_command(
	struct bp_host_threads *threads, uint32_t ordinal, uint32_t number)
{
	struct bp_host_thread *thread = thread_of(threads, ordinal);
	return __atomic_exchange_n(&thread->command, number, __ATOMIC_RELAXED) != number;
}

void bp_host_threads_follow(struct bp_host_threads *threads, uint32_t ordinal)
{
	struct bp_host_thread *thread = thread_of(threads, ordinal);
	bp_lock_take(&thread->lock);
	if (thread->slot != NULL)
		__atomic_store_n(
			&thread->slot->command, (uint16_t)thread->command, __ATOMIC_RELEASE);
	bp_lock_release(&thread->lock);
}

struct bp_host_end bp_host_threads_finish(struct bp_host_threads *threads)
{
	struct bp_host_end end = { { 0, 0 }, 0, 0 };
	const uint32_t count = __atomic_load_n(&threads->count, __ATOMIC_ACQUIRE);
	for (uint32_t ordinal = 1; ordinal <= count; ordinal++) {
		struct bp_host_thread *thread = thread_of(threads, ordinal);
		bp_lock_take(&thread->lock);
		end.open_threads += !thread->ended;
		end.totals.trials += thread->trials;
		end.totals.objects += thread->objects;
		bp_lock_release(&thread->lock);
	}
	if (end.open_threads > 0 || __atomic_load_n(&threads->has_unknown, __ATOMIC_RELAXED))
		end.open_trials = BP_ARMED_WITHOUT_LIMIT;
	return end;
}
