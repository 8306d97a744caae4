/* SPDX-License-Identifier: MIT */
/*
 * A thread's block is found through its thread-local words; all running ones are in a list, so that
 * the end of the process can sum them. Blocks of ended threads are used again.
 *
 * The end of a thread. Its destructor asks to be called again while glibc still makes rounds, so
 * that it is among the last; from its first call on the countdown is always empty, and each later
 * allocation of the thread publishes itself. In the last round the totals go to the trace (THREAD
 * END) and the words back to zero: should the thread allocate even later, it is born once more
 * under another ordinal.
 */
#include "recorder/thread.h"

#include <errno.h>

#include <limits.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "base/system_call.h"
#include "recorder/steering/control.h"
#include "recorder/steering/seal.h"
#include "recorder/visit.h"
#include "sampler/prng.h"
#include "tables/arena.h"

__thread struct bp_hot bp_hot __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define NAME_BYTES 16

static struct {
	struct bp_lock lock;
	struct bp_thread *first, *free;
	struct bp_totals ended;
	pthread_key_t key;
	bool key_made;
} threads;

static void end_lost(struct bp_thread *thread);
static void end_detached(struct bp_thread *thread);

/* The destructor; runs in the thread itself, for its own block. */
static void on_thread_end(void *value)
{
	struct bp_thread *thread = value;
	struct bp_hot *hot = &bp_hot;
	if (hot->thread != thread)
		return;
	if (bp_recorder.is_late &&
		(bp_recorder.mode != BP_MODE_ON || thread->attachment != bp_recorder.attachment)) {
		end_detached(thread);
		return;
	}
	/* In a child without a trace of its own the slot's memory is not there. */
	if (bp_recorder.mode != BP_MODE_ON || *bp_recorder.fork_mark == 0)
		return;
	if (hot->busy) {
		end_lost(thread);
		return;
	}
	if (bp_recorder.seal == BP_SEAL_ALL) {
		bp_seal_thread_end();
		return;
	}
	/* Between the first round and the last each allocation has published itself already. */
	const bool last = ++thread->rounds >= PTHREAD_DESTRUCTOR_ITERATIONS;
	if (thread->ending && !last && pthread_setspecific(threads.key, thread) == 0)
		return;
	struct bp_visit visit;
	if (!bp_visit_begin(&visit, 0)) {
		if (bp_recorder.is_late && !hot->busy)
			end_detached(thread);
		return;
	}
	if (thread->ending || last || pthread_setspecific(threads.key, thread) != 0)
		hot->late = 1; /* the last round: with the visit the thread ends */
	thread->ending = true;
	bp_visit_end(&visit, visit.left);
}

bool bp_threads_init(void)
{
	threads.key_made = pthread_key_create(&threads.key, on_thread_end) == 0;
	return threads.key_made;
}

static struct bp_thread *new_block(void)
{
	bp_lock_take(&threads.lock);
	struct bp_thread *thread = threads.free;
	if (thread != NULL)
		threads.free = thread->next;
	bp_lock_release(&threads.lock);
	if (thread == NULL)
		return bp_arena_allocate(sizeof *thread);
	/* All but the scratch at the end, which needs no zeroing. */
	struct bp_python_walk *python = thread->python;
	__builtin_memset(thread, 0, offsetof(struct bp_thread, capture.pcs));
	thread->python = python;
	return thread;
}

static void link_thread(struct bp_thread *thread)
{
	bp_lock_take(&threads.lock);
	thread->previous = NULL;
	thread->next = threads.first;
	if (threads.first != NULL)
		threads.first->previous = thread;
	threads.first = thread;
	bp_lock_release(&threads.lock);
}

/* Everything about a thread that a fork makes new, too. Its countdown is empty. */
static void begin_thread(struct bp_thread *thread)
{
	uint64_t seed = bp_recorder.random_key;
	thread->attachment = bp_recorder.attachment;
	thread->ordinal = __atomic_add_fetch(&bp_recorder.last_ordinal, 1, __ATOMIC_RELAXED);
	/* Two rounds of a bijection over (process, ordinal): no two threads share a seed. */
	seed = bp_splitmix64(&seed) + thread->ordinal;
	bp_control_adopt(thread, bp_control_word());
	thread->noted_trials = thread->added_trials = 0;
	bp_sampler_init(&thread->sampler, seed, thread->interval, bp_recorder.law);
	thread->slot = bp_writer_take_slot(&bp_recorder.writer);
	if (thread->slot != NULL) {
		thread->slot->tid = thread->tid;
		thread->slot->hot_address = (uint64_t)&thread->hot->counters;
		__atomic_store_n(&thread->slot->ordinal, thread->ordinal, __ATOMIC_RELEASE);
	}
	char name[NAME_BYTES] = "";
	(void)syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	uint64_t values[3] = { thread->ordinal, thread->tid, bp_system_time_ns(CLOCK_MONOTONIC) };
	(void)bp_writer_plain(&bp_recorder.writer, BP_TAG_THREAD_BEGIN, values, 3, name);
	bp_control_note_begin(thread);
}

struct bp_thread *bp_thread_self(void)
{
	struct bp_hot *hot = &bp_hot;
	if (bp_likely(hot->thread != NULL))
		return hot->thread;
	struct bp_thread *thread = new_block();
	if (thread == NULL)
		return NULL;
	thread->hot = hot;
	thread->tid = bp_system_tid();
	thread->ending = hot->late != 0;
	begin_thread(thread);
	hot->thread = thread;
	link_thread(thread);
	if (threads.key_made && !hot->late)
		(void)pthread_setspecific(threads.key, thread);
	return thread;
}

/* The counters of a thread that begins: nothing, but for the object that is being charged. */
static void begin_counters(struct bp_hot *hot, uint64_t charged)
{
	hot->counters.objects = hot->unoffered_objects + (charged != 0);
	__atomic_store_n(&hot->counters.trials_left, 0 - charged, __ATOMIC_RELAXED);
}

void bp_thread_meet(uint64_t charged)
{
	struct bp_hot *hot = &bp_hot;
	struct bp_thread *thread = hot->thread;
	if (thread == NULL) {
		/* It may have passed while nothing was recorded. */
		begin_counters(hot, charged);
		return;
	}
	if (bp_likely(thread->attachment == bp_recorder.attachment))
		return;
	struct bp_python_walk *python = thread->python;
	__builtin_memset(thread, 0, offsetof(struct bp_thread, capture.pcs));
	thread->python = python;
	thread->hot = hot;
	thread->tid = bp_system_tid();
	thread->ending = hot->late != 0;
	hot->unoffered_trials = hot->unoffered_objects = 0;
	begin_counters(hot, charged);
	begin_thread(thread);
	link_thread(thread);
}

void bp_thread_publish(struct bp_thread *thread, uint64_t trials_left)
{
	struct bp_thread_slot *slot = thread->slot;
	const struct bp_hot *hot = thread->hot;
	if (slot == NULL)
		return;
	uint16_t generation = slot->generation;
	__atomic_store_n(&slot->generation, (uint16_t)(generation + 1), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	slot->trials = bp_thread_trials(thread, trials_left);
	slot->objects = hot->counters.objects;
	slot->armed = trials_left;
	slot->unoffered_trials = hot->unoffered_trials;
	slot->unoffered_objects = hot->unoffered_objects;
	__atomic_store_n(&slot->generation, (uint16_t)(generation + 2), __ATOMIC_RELEASE);
}

static void add_totals(
	struct bp_totals *totals, const struct bp_hot *hot, uint64_t trials, uint64_t objects)
{
	totals->trials += trials;
	totals->objects += objects;
	totals->unoffered_trials += hot->unoffered_trials;
	totals->unoffered_objects += hot->unoffered_objects;
}

static void unlink_thread(struct bp_thread *thread)
{
	if (thread->previous != NULL)
		thread->previous->next = thread->next;
	else
		threads.first = thread->next;
	if (thread->next != NULL)
		thread->next->previous = thread->previous;
	thread->next = threads.free;
	threads.free = thread;
}

void bp_thread_end(struct bp_thread *thread)
{
	struct bp_hot *hot = thread->hot;
	/* The countdown is empty, and the slot says so: a reader from outside adds nothing to
	 * it. */
	uint64_t trials = bp_thread_trials(thread, 0);
	char name[NAME_BYTES] = "";
	(void)syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	uint64_t values[] = { thread->ordinal, thread->tid, bp_system_time_ns(CLOCK_MONOTONIC),
		trials, hot->counters.objects, hot->unoffered_trials, hot->unoffered_objects };
	bool written = bp_writer_plain(
		&bp_recorder.writer, BP_TAG_THREAD_END, values, BP_COUNT(values), name);
	bp_lock_take(&threads.lock);
	add_totals(&threads.ended, hot, trials, hot->counters.objects);
	if (thread->slot != NULL) {
		bp_thread_publish(thread, 0);
		/* Without a record the slot itself keeps the totals, for good. */
		if (written)
			bp_writer_give_slot(&bp_recorder.writer, thread->slot);
	}
	unlink_thread(thread);
	hot->thread = NULL;
	hot->late = 1;
	hot->counters = (struct bp_sampler_hot){ 0 };
	hot->unoffered_trials = hot->unoffered_objects = 0;
	bp_lock_release(&threads.lock);
}

/* ---- Counters of another thread ----
 *
 * Outside the recorder: the two words, read twice, and with them what a visit changes behind the
 * countdown. That is a countdown, or just below zero (a charge borrowed, and the visit is about to
 * begin). A visit puts it out of reach before it changes anything, but first tells what the thread
 * has made up to then (`visits` odd): it makes nothing until it comes out again, with the countdown
 * back before `visits` is even. So one of the two holds at any moment. */
static bool is_in_reach(uint64_t left)
{
	return left <= BP_SAMPLER_LOOK_MAX || left >= (uint64_t)1 << 63;
}

static bool try_outside(const struct bp_thread *thread, struct bp_thread_counters *ret_counters)
{
	const struct bp_sampler_hot *counters = &thread->hot->counters;
	const uint64_t objects = __atomic_load_n(&counters->objects, __ATOMIC_ACQUIRE);
	const uint64_t left = __atomic_load_n(&counters->trials_left, __ATOMIC_ACQUIRE);
	if (!is_in_reach(left))
		return false;
	const struct bp_thread_counters found = { .trials = bp_thread_trials(thread, left),
		.objects = objects,
		.control = __atomic_load_n(&thread->control, __ATOMIC_RELAXED),
		.interval = __atomic_load_n(&thread->interval, __ATOMIC_RELAXED) };
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&counters->objects, __ATOMIC_RELAXED) != objects ||
		__atomic_load_n(&counters->trials_left, __ATOMIC_RELAXED) != left)
		return false;
	*ret_counters = found;
	return true;
}

/* What was charged while the countdown was out of reach; 0: it is not. */
static uint64_t charged_within(uint64_t left)
{
	return left <= BP_VISIT_LEFT && left > BP_VISIT_LEFT / 2 ? BP_VISIT_LEFT - left : 0;
}

static bool try_inside(const struct bp_thread *thread, struct bp_thread_counters *ret_counters)
{
	const struct bp_sampler_hot *counters = &thread->hot->counters;
	const uint32_t visits = __atomic_load_n(&thread->visits, __ATOMIC_ACQUIRE);
	struct bp_thread_counters found = { .trials = __atomic_load_n(
						    &thread->visit_trials, __ATOMIC_RELAXED),
		.objects = __atomic_load_n(&thread->visit_objects, __ATOMIC_RELAXED),
		.control = __atomic_load_n(&thread->control, __ATOMIC_RELAXED),
		.interval = __atomic_load_n(&thread->interval, __ATOMIC_RELAXED),
		.nested_trials =
			charged_within(__atomic_load_n(&counters->trials_left, __ATOMIC_RELAXED)) };
	/* What a visit undoes (a request that failed) it takes from the present count of
	 * objects. */
	const uint64_t objects = __atomic_load_n(&counters->objects, __ATOMIC_RELAXED);
	if (__atomic_load_n(&thread->uncounted, __ATOMIC_RELAXED))
		found.nested_trials = 0;
	else if (found.nested_trials != 0 && objects > found.objects)
		found.nested_objects = objects - found.objects;
	found.trials += found.nested_trials;
	found.objects += found.nested_objects;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (visits % 2 == 0 || __atomic_load_n(&thread->visits, __ATOMIC_RELAXED) != visits)
		return false;
	*ret_counters = found;
	return true;
}

static bool try_counters(const struct bp_thread *thread, struct bp_thread_counters *ret_counters)
{
	return try_outside(thread, ret_counters) || try_inside(thread, ret_counters);
}

/* A thread that ended without destructors (raw clone) has no memory to read. */
bool bp_thread_is_running(const struct bp_thread *thread)
{
	return thread == bp_hot.thread || syscall(SYS_tgkill, bp_recorder.pid, thread->tid, 0) == 0;
}

bool bp_thread_read(
	const struct bp_thread *thread, uint32_t attempts, struct bp_thread_counters *ret_counters)
{
	bool good = false;
	for (uint32_t i = 0; !good && i < attempts; i++)
		good = try_counters(thread, ret_counters);
	return good;
}

void bp_threads_each(void (*look)(struct bp_thread *thread, void *context), void *context,
	struct bp_totals *ret_ended)
{
	bp_lock_take(&threads.lock);
	*ret_ended = threads.ended;
	for (struct bp_thread *thread = threads.first; thread != NULL; thread = thread->next)
		look(thread, context);
	bp_lock_release(&threads.lock);
}

/* ---- Detaching ---- */

bool bp_threads_are_quiet(uint64_t wait_ns)
{
	static uint32_t word;
	const struct timespec pause = { .tv_nsec = 100000 };
	const uint64_t until_ns = bp_system_time_ns(CLOCK_MONOTONIC) + wait_ns;
	while (__atomic_load_n(&bp_recorder.inside, __ATOMIC_SEQ_CST) != 0) {
		if (bp_system_time_ns(CLOCK_MONOTONIC) >= until_ns)
			return false;
		(void)syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &pause);
	}
	return true;
}

void bp_threads_forget(void)
{
	bp_lock_take(&threads.lock);
	/* Their next object comes to the recorder. (A store that meets the thread's own subtraction
	 * may be lost: then it is a later one, after 1 MiB at most.) */
	for (struct bp_thread *thread = threads.first; thread != NULL; thread = thread->next)
		if (!thread->lost && bp_thread_is_running(thread))
			__atomic_store_n(&thread->hot->counters.trials_left, 0, __ATOMIC_RELAXED);
	threads.first = NULL;
	threads.ended = (struct bp_totals){ 0 };
	bp_recorder.attachment++;
	bp_lock_release(&threads.lock);
}

void bp_threads_forget_all(void)
{
	if (bp_lock_reset(&threads.lock))
		threads.free = NULL;
	threads.first = NULL;
	threads.ended = (struct bp_totals){ 0 };
	bp_recorder.attachment++;
}

/* A thread ends while nothing is recorded, or has made nothing since it is recorded again. */
static void end_detached(struct bp_thread *thread)
{
	if (bp_recorder.pid != bp_system_pid())
		return; /* in a child nobody looks at the list */
	bp_lock_take(&threads.lock);
	if (thread->attachment == bp_recorder.attachment) {
		add_totals(&threads.ended, thread->hot,
			bp_thread_trials(thread, thread->hot->counters.trials_left),
			thread->hot->counters.objects);
		unlink_thread(thread);
	} else {
		thread->next = threads.free;
		threads.free = thread;
	}
	bp_hot.thread = NULL;
	bp_lock_release(&threads.lock);
}

/* ---- A visit that never ends ---- */

/* Not even born: a handler interrupted its first visit. Its counters began at zero. */
static bool lose_unborn(struct bp_hot *hot)
{
	struct bp_totals *ended = &threads.ended;
	const uint64_t trials = hot->unoffered_trials - hot->counters.trials_left;
	if (!bp_lock_try(&threads.lock))
		return false;
	ended->trials += trials;
	ended->unoffered_trials += trials;
	ended->objects += hot->counters.objects;
	ended->unoffered_objects += hot->counters.objects;
	bp_lock_release(&threads.lock);
	if (hot->counters.objects != 0)
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_INTERRUPTED);
	hot->counters = (struct bp_sampler_hot){ 0 };
	hot->unoffered_trials = hot->unoffered_objects = 0;
	return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool bp_thread_lose(void)
{
	struct bp_hot *hot = &bp_hot;
	struct bp_thread *thread = hot->thread;
	if (thread == NULL)
		return lose_unborn(hot);
	const uint64_t left = hot->counters.trials_left;
	const bool visiting = thread->visits % 2 != 0, reachable = is_in_reach(left);
	if (thread->lost || thread->uncounted || hot->forking > 0 ||
		(!visiting && (!reachable || thread->slot == NULL)))
		return thread->lost;
	/* Before `busy` was followed by the begin of the visit, or after its end: as published
	 * last. */
	const uint64_t before = visiting ? thread->visit_trials : thread->slot->trials;
	const uint64_t objects_before = visiting ? thread->visit_objects : thread->slot->objects;
	const uint64_t trials =
		reachable ? bp_thread_trials(thread, left) : before + charged_within(left);
	const uint64_t objects = larger(hot->counters.objects, objects_before);
	/* While the countdown is in reach, some were counted as not offered already; and outside of
	 * a visit what was made since the last one was offered, by the countdown, unless that had
	 * run out when the visit was about to begin: then nothing borrowed from it any more. */
	if (visiting || (int64_t)left < 0) {
		hot->unoffered_trials = larger(hot->unoffered_trials,
			trials - before + (reachable ? 0 : hot->unoffered_trials));
		hot->unoffered_objects = larger(hot->unoffered_objects,
			objects - objects_before + (reachable ? 0 : hot->unoffered_objects));
	}
	hot->counters.objects = objects;
	/* So that the trials made, the countdown being 0, are those. */
	thread->sampler.trials = trials - hot->unoffered_trials;
	thread->sampler.armed = 0;
	__atomic_store_n(&hot->counters.trials_left, 0, __ATOMIC_RELEASE);
	if (visiting) {
		bp_thread_leave(thread);
		bp_recorder_leave();
	}
	thread->lost = true;
	bp_thread_publish(thread, 0);
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_INTERRUPTED);
	return true;
}

void bp_thread_pass(void)
{
	const struct bp_thread *thread = bp_hot.thread;
	const int saved_errno = errno;
	if (thread != NULL && !thread->lost)
		return;
	if (thread != NULL)
		bp_thread_publish(bp_hot.thread, bp_hot.counters.trials_left);
	if (bp_recorder.ended)
		bp_recorder_end(BP_END_NONE);
	errno = saved_errno;
}

/* A destructor of the thread, in a visit. The slot keeps the totals, for good. Later destructors
 * may still allocate, so that this waits for the last round; then the block must not be found any
 * more, because the thread-local words go away. Where the lock cannot be had, the system says that
 * the thread is gone. */
static void end_lost(struct bp_thread *thread)
{
	if (!bp_thread_lose())
		return;
	if (++thread->rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
		pthread_setspecific(threads.key, thread) == 0)
		return;
	if (!bp_lock_try(&threads.lock))
		return;
	add_totals(&threads.ended, thread->hot, bp_thread_trials(thread, 0),
		thread->hot->counters.objects);
	unlink_thread(thread);
	thread->hot->thread = NULL;
	/* They are in the sum now; what is made from here on is added to it again (lose_unborn). */
	thread->hot->counters = (struct bp_sampler_hot){ 0 };
	thread->hot->unoffered_trials = thread->hot->unoffered_objects = 0;
	bp_lock_release(&threads.lock);
}

/* Beyond what a thread published it makes no more than it was armed with before it publishes
 * again. */
static void add_open(struct bp_totals *totals, uint64_t armed)
{
	totals->open_threads += armed != 0;
	totals->open_trials += armed;
}

/* One that cannot be read: it has ended without destructors, or is too busy to be caught. What it
 * published last. */
static void add_published(struct bp_totals *totals, const struct bp_thread *thread, bool is_running)
{
	const struct bp_thread_slot *slot = thread->slot;
	if (slot == NULL) {
		add_open(totals, BP_ARMED_WITHOUT_LIMIT);
		return;
	}
	totals->trials += slot->trials;
	totals->objects += slot->objects;
	totals->unoffered_trials += slot->unoffered_trials;
	totals->unoffered_objects += slot->unoffered_objects;
	add_open(totals, is_running ? BP_SAMPLER_LOOK_MAX : slot->armed);
}

static void add_thread(struct bp_totals *totals, struct bp_thread *thread)
{
	struct bp_thread_counters counters;
	const bool is_running = bp_thread_is_running(thread), is_self = thread == bp_hot.thread;
	if (!is_running || !bp_thread_read(thread, 100, &counters)) {
		add_published(totals, thread, is_running);
		return;
	}
	add_totals(totals, thread->hot, counters.trials, counters.objects);
	totals->unoffered_trials += counters.nested_trials;
	totals->unoffered_objects += counters.nested_objects;
	totals->has_others = totals->has_others || !is_self;
	const bool allocates =
		thread->seen_trials != counters.trials || thread->seen_objects != counters.objects;
	if (allocates && !is_self)
		add_open(totals, thread->slot == NULL ? BP_SAMPLER_LOOK_MAX : thread->slot->armed);
	thread->seen_trials = counters.trials;
	thread->seen_objects = counters.objects;
}

bool bp_threads_totals(struct bp_totals *ret_totals, bool wait)
{
	if (wait)
		bp_lock_take(&threads.lock);
	else if (!bp_lock_try(&threads.lock))
		return false;
	*ret_totals = threads.ended;
	for (struct bp_thread *thread = threads.first; thread != NULL; thread = thread->next)
		add_thread(ret_totals, thread);
	bp_lock_release(&threads.lock);
	return true;
}

void bp_threads_lock(void)
{
	bp_lock_take(&threads.lock);
}

void bp_threads_unlock(void)
{
	bp_lock_release(&threads.lock);
}

void bp_threads_after_fork(void)
{
	struct bp_hot *hot = &bp_hot;
	struct bp_thread *self = hot->thread;
	if (bp_lock_reset(&threads.lock))
		threads.free = NULL;
	threads.first = NULL;
	threads.ended = (struct bp_totals){ 0 };
	hot->counters = (struct bp_sampler_hot){ 0 };
	hot->unoffered_trials = hot->unoffered_objects = 0;
	if (self == NULL)
		return;
	self->tid = bp_recorder.pid; /* the first thread of its process */
	self->next = self->previous = NULL;
	self->capture.shared_rules = 0;
	begin_thread(self);
	link_thread(self);
}
