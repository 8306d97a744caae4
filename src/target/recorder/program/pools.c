/* SPDX-License-Identifier: MIT */
/*
 * Objects of annotated pools: charged to the same two words as malloc's, decided by the same
 * sampler, written as samples of kind pool. They stay where the pool put them, and are found again
 * in pool_set.h.
 */
#include "recorder/program/pools.h"

#include "recorder/event.h"
#include "recorder/objects.h"
#include "recorder/program/listeners.h"
#include "recorder/steering/control.h"
#include "tables/pool_set.h"
#include "tables/text_table.h"

#define NAME_BYTES 200u
#define NAMES_MAX 1000u
#define NAMES_BYTES_MAX ((uint64_t)1 << 19)

/* Names of pools, which are types to the trace. */
static struct bp_text_table names = {
	.tag = BP_TAG_TYPE, .texts_max = NAMES_MAX, .bytes_max = NAMES_BYTES_MAX, .generation = 1
};

/* Samples that end in one visit: their events must find room in it, where somebody listens. */
#define BATCH_TOLD 4u
#define BATCH 64u

static void end_sample(
	struct bp_visit *visit, uint64_t address, uint64_t sequence, enum bp_tracepoint_end end)
{
	bp_event_freed(visit, (const void *)(uintptr_t)address, bp_recorder_next_sequence(),
		sequence, end, 0);
}

static void record_sample(struct bp_visit *visit, const void *pool, const void *object,
	const struct bp_call *call, const struct bp_decision *decision)
{
	uint64_t replaced;
	uint32_t type = 0;
	if (bp_unlikely(bp_recorder.writer.stopped)) {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_TRACE_FULL);
		return;
	}
	const uint64_t sequence = bp_recorder_next_sequence();
	const bool room = bp_pool_set_insert(pool, object, sequence, &type, &replaced);
	if (bp_unlikely(replaced != 0)) {
		/* Its end was not reported. */
		bp_event_freed_earlier(
			visit, object, bp_recorder_next_sequence(), replaced, BP_TRACEPOINT_UNSEEN);
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
	}
	if (!room) {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_LARGE_TABLE);
		return;
	}
	if (type != 0 && !bp_text_write(&names, type, &bp_recorder.writer)) {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_NAME);
		type = 0;
	}
	const struct bp_event_sample sample = { .call = call,
		.decision = decision,
		.object = object,
		.sequence = sequence,
		.type = type };
	bp_stack_capture(&visit->thread->capture);
	if (!bp_event_sampled(visit, &sample))
		(void)bp_pool_set_remove(object);
}

void bp_cold_pool(const void *pool, const void *object, size_t size)
{
	struct bp_visit visit;
	struct bp_decision decision;
	const struct bp_call call = { .kind = BP_KIND_POOL, .size = size, .room = size };
	if (size > PTRDIFF_MAX) {
		bp_cold_uncharge(size);
		return;
	}
	if (!bp_visit_begin(&visit, (uint64_t)size + BP_SAMPLER_CHARGE)) {
		bp_cold_pass(size);
		return;
	}
	const bool changed = bp_object_offer(&visit, size, &decision);
	if (decision.sampled)
		record_sample(&visit, pool, object, &call, &decision);
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	bp_visit_end(&visit, visit.left);
}

void bp_pools_end(const void *object, bool by_realloc)
{
	struct bp_visit visit;
	if (!bp_visit_begin(&visit, 0))
		return; /* It stays, until its place is sampled again. */
	const uint64_t sequence = bp_pool_set_remove(object);
	if (sequence != 0)
		end_sample(&visit, (uint64_t)object, sequence,
			by_realloc ? BP_TRACEPOINT_REALLOCATED : BP_TRACEPOINT_FREED);
	bp_visit_end(&visit, visit.left);
}

void bp_pools_trim(const void *pool, const void *keep, size_t keep_bytes, bool destroy)
{
	struct bp_pool_sample samples[BATCH];
	struct bp_visit visit;
	uint32_t count, room;
	do {
		room = bp_listeners_any() ? BATCH_TOLD : BATCH;
		if (!bp_visit_begin(&visit, 0))
			return;
		count = bp_pool_set_take(pool, keep, keep_bytes, destroy, samples, room);
		for (uint32_t i = 0; i < count; i++)
			end_sample(&visit, samples[i].address, samples[i].sequence,
				BP_TRACEPOINT_FREED);
		bp_visit_end(&visit, visit.left);
	} while (count == room);
}

void bp_pools_name(const void *pool, const char *name)
{
	struct bp_visit visit;
	size_t bytes = 0;
	while (bytes < NAME_BYTES && name[bytes] != '\0')
		bytes++;
	if (bytes == 0 || !bp_visit_begin(&visit, 0))
		return;
	const uint32_t type = bp_text_id(&names, name, bytes);
	if (type == 0 || !bp_pool_set_name(pool, type))
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_NAME);
	bp_visit_end(&visit, visit.left);
}

const char *bp_pools_type_name(uint32_t type)
{
	const struct bp_text *text = type == 0 ? NULL : bp_text_of(&names, type);
	return text == NULL ? "" : text->text;
}

void bp_pools_move(const void *from, const void *to)
{
	struct bp_visit visit;
	if (!bp_visit_begin(&visit, 0))
		return;
	bp_pool_set_move(from, to);
	bp_visit_end(&visit, visit.left);
}

/* ---- what is not counted ---- */

/* Words of the token: 1, the countdown, the objects, the thread. */

/* For threads that read this one's counters the visit is another one from here on: they find what
 * was charged to the countdown within it, and whether that counts, together or not at all. */
static void set_uncounted(struct bp_thread *thread, bool uncounted, uint64_t left, uint64_t objects)
{
	bp_thread_leave(thread);
	__atomic_store_n(&thread->uncounted, uncounted, __ATOMIC_RELAXED);
	bp_thread_enter(thread, left, objects);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void bp_pools_uncounted_begin(struct bp_uncounted *ret_token)
{
	struct bp_visit visit;
	ret_token->private_words[0] = 0;
	if (!bp_visit_begin(&visit, 0))
		return;
	set_uncounted(visit.thread, true, visit.left, visit.objects);
	bp_thread_publish(visit.thread, visit.left);
	ret_token->private_words[0] = 1;
	ret_token->private_words[1] = visit.left;
	ret_token->private_words[2] = visit.objects;
	ret_token->private_words[3] = visit.thread->ordinal;
	errno = visit.saved_errno;
}

void bp_pools_uncounted_end(struct bp_uncounted *token)
{
	struct bp_hot *hot = &bp_hot;
	/* Not by another thread, and not in a child, whose thread was begun anew (by fork: it is
	 * not busy; behind our back: it is found out at its next visit). */
	if (token->private_words[0] != 1 || !hot->busy || hot->thread == NULL ||
		hot->thread->ordinal != token->private_words[3])
		return;
	token->private_words[0] = 0;
	struct bp_visit visit = {
		.hot = hot,
		.thread = hot->thread,
		.left = token->private_words[1],
		.objects = token->private_words[2],
		.saved_errno = errno,
	};
	hot->counters.objects = visit.objects;
	__atomic_store_n(&hot->counters.trials_left, BP_VISIT_LEFT, __ATOMIC_RELAXED);
	set_uncounted(visit.thread, false, visit.left, visit.objects);
	if (bp_unlikely(*bp_recorder.fork_mark == 0)) {
		__atomic_store_n(&hot->counters.trials_left, visit.left, __ATOMIC_RELAXED);
		bp_thread_leave(visit.thread);
		hot->busy = 0;
		return;
	}
	bp_visit_end(&visit, visit.left);
}

void bp_pools_lock(void)
{
	bp_lock_take(&names.lock);
	bp_pool_set_lock();
}

void bp_pools_unlock(void)
{
	bp_pool_set_unlock();
	bp_lock_release(&names.lock);
}

void bp_pools_after_fork(void)
{
	bp_text_after_fork(&names);
	bp_pool_set_after_fork();
}
