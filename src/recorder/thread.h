/* SPDX-License-Identifier: MIT */
/*
 * Threads: birth at the first cold path, publication of their two counters in every one, death by a
 * thread-specific-data destructor. The caller is inside the recorder (busy).
 */
#ifndef BP_RECORDER_THREAD_H
#define BP_RECORDER_THREAD_H

#include "bytepoll/bytepoll.h"
#include "bytepoll/sampler.h"
#include "recorder/recorder.h"
#include "recorder/stack.h"

/* Events of one visit, where somebody listens: a free, one more of an object nobody saw go, a sample, and a
 * free that a signal handler left. */
#define BP_THREAD_EVENTS 4u

struct bp_thread {
	struct bp_sampler sampler;
	struct bp_hot *hot;		   /* its thread-local words */
	struct bp_thread_slot *slot;	   /* in the trace; NULL: none was free */
	struct bp_thread *next, *previous; /* all running ones; or next free block */
	uint64_t control;		   /* the control word it follows (control.h) */
	uint64_t interval;		   /* T that it samples at; 0: it does not */
	uint64_t added_trials;		   /* of its own, in the sum of fine_start.h */
	bool fine; /* its T is still finer than the default, by the fine start */
	uint32_t ordinal, tid;
	uint32_t rounds;   /* of destructors seen */
	uint32_t measured; /* samples and frees that the budget looked at (budget.h) */
	bool ending;	   /* destructors run: every allocation publishes itself */
	bool lost;	   /* a visit of its never ended: it makes no other (bp_thread_lose) */
	bool uncounted;	   /* what it makes within its visit does not count (pools.h) */
	uint32_t visits; /* begins and ends of visits: odd within one, and then the next two hold */
	uint64_t visit_trials, visit_objects; /* made at its begin, with the object at hand */
	/* Of window.c: in the newest record of a moment, and the moment at which it was seen to run. */
	uint64_t noted_trials, noted_moment;
	uint64_t seen_trials, seen_objects; /* by the last look of bp_threads_totals */
	struct bp_stack_capture capture;
	struct bp_event
		events[BP_THREAD_EVENTS]; /* of the visit it is in; not on the program's stack */
};

/* Once, at start. False: no thread-specific key (thread ends go unseen then). */
bool bp_threads_init(void);

/* The calling thread's block, made if need be; NULL: no memory. Sets bp_hot.thread. */
struct bp_thread *bp_thread_self(void);

/* Trials and objects made by a thread so far; `trials_left` is the value in force. */
static inline uint64_t bp_thread_trials(const struct bp_thread *thread, uint64_t trials_left)
{
	return bp_sampler_trials(&thread->sampler, trials_left) + thread->hot->unoffered_trials;
}

/* Stores the counters, and `trials_left` as what is armed, where a reader finds them. */
void bp_thread_publish(struct bp_thread *thread, uint64_t trials_left);

/* The end of the calling thread, whose countdown is empty: its totals go to the trace, its block and slot
 * are free again. For the end of a visit (visit.h). */
void bp_thread_end(struct bp_thread *thread);

/* The visit that the calling thread is in will never end: a signal handler that interrupted it ended the
 * thread or the process, or left it by siglongjmp. The thread stays busy, because it may hold locks, and so is
 * sampled no more. What it has made since the visit began is set right, and counts as not offered to the
 * sampler and as lost; from now on every allocation publishes itself (bp_thread_pass). False, and nothing is done,
 * where the thread is busy without a visit. May be called again. */
bool bp_thread_lose(void);

/* A charge of a lost thread borrowed, and was counted. */
void bp_thread_pass(void);

/* Sums over all threads, ended ones included, as of now. Of some that is not all: `open_threads` cannot be
 * read (they ended without a word, or are too busy), or allocate: they have made something since the last
 * look at them, and may do so before they publish again. What these may have made beyond is `open_trials` at
 * most. (A first look finds that everybody allocates; it is only to be followed by another.) False: a lock was
 * held, and `wait` is false, because the calling thread may itself be the one that holds it. */
struct bp_totals {
	uint64_t trials, objects, unoffered_trials, unoffered_objects;
	uint64_t open_threads, open_trials;
	bool has_others; /* threads that run beside the calling one */
};
bool bp_threads_totals(struct bp_totals *ret_totals, bool wait);

/* Around a visit, for threads that read this one's counters: what it has made, its countdown being `left`. */
static inline void bp_thread_enter(struct bp_thread *thread, uint64_t left, uint64_t objects)
{
	__atomic_store_n(&thread->visit_trials, bp_thread_trials(thread, left), __ATOMIC_RELAXED);
	__atomic_store_n(&thread->visit_objects, objects, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->visits, thread->visits + 1, __ATOMIC_RELEASE);
}

static inline void bp_thread_leave(struct bp_thread *thread)
{
	__atomic_store_n(&thread->visits, thread->visits + 1, __ATOMIC_RELEASE);
	/* Before the next one's numbers. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void bp_thread_enter_again(struct bp_thread *thread, uint64_t left, uint64_t objects)
{
	bp_thread_leave(thread);
	bp_thread_enter(thread, left, objects);
}

/* The two counters of a running thread as of one moment, the control word it follows and its T. Of them, what signal
 * handlers made within the visit that the thread is in; more, where one left that visit for good by a jump. False: too busy
 * to be caught in so many attempts, or gone without a word. From within
 * bp_threads_each; not for the caller itself. */
struct bp_thread_counters {
	uint64_t trials, objects, control, interval;
	uint64_t nested_trials, nested_objects;
};
bool bp_thread_read(
	const struct bp_thread *thread, uint32_t attempts, struct bp_thread_counters *ret_counters);
/* Asks the system; to be done before bp_thread_read. */
bool bp_thread_is_running(const struct bp_thread *thread);

/* Calls `look` for every running thread that has allocated, none of which can end meanwhile, and says what
 * the ended ones made. `look` takes no lock but those of the writer. */
void bp_threads_each(void (*look)(struct bp_thread *thread, void *context), void *context,
	struct bp_totals *ret_ended);

/* In a child of fork: only the caller is left, its counters at zero, its generator drawn anew.
 * `armed`: value of trials_left the caller will arm with is returned. */
void bp_threads_after_fork(void);
void bp_threads_lock(void);
void bp_threads_unlock(void);

#endif
