/* SPDX-License-Identifier: MIT */
/*
 * Threads. A thread becomes known at its first cold path, publishes its two counters in every cold
 * path, and ends in a destructor of thread-specific data. The caller is inside the recorder (busy).
 */
#ifndef BP_RECORDER_THREAD_H
#define BP_RECORDER_THREAD_H

#include "bytepoll/bytepoll.h"
#include "bytepoll/sampler.h"
#include "python/frames.h"
#include "recorder/recorder.h"
#include "unwind/stack.h"

/* The most events of one visit, if there are listeners: a free; the end of an object whose free was
 * not seen; a sample; and a free that a signal handler has deferred. */
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
	uint32_t attachment; /* that it belongs to, of bp_recorder.attachment */
	uint32_t rounds;     /* of destructors seen */
	uint32_t measured;   /* samples and frees that the budget looked at (budget.h) */
	bool ending;	     /* destructors run: every allocation publishes the counters */
	/* one of its visits will never end: it begins no other (bp_thread_lose) */
	bool lost;
	bool uncounted; /* its allocations within its visit do not count (pools.h) */
	/* begins and ends of visits; odd within one, when the next two fields hold */
	uint32_t visits;
	uint64_t visit_trials, visit_objects; /* made until its begin, with the current object */
	/* For window.c: as in the newest record of a moment; the moment at which it was seen to
	 * run. */
	uint64_t noted_trials, noted_moment;
	uint64_t seen_trials, seen_objects; /* by the last look of bp_threads_totals */
	struct bp_python_walk *python;	    /* for walks of its Python frames; NULL: none so far */
	struct bp_stack_capture capture;
	struct bp_event
		events[BP_THREAD_EVENTS]; /* of the visit it is in; not on the program's stack */
};

/* Called once, at start. False: there is no thread-specific key, so that the ends of threads are
 * not seen. */
bool bp_threads_init(void);

/* Returns the calling thread's block, and makes it if there is none; NULL: no memory. Sets
 * bp_hot.thread. */
struct bp_thread *bp_thread_self(void);

/* Returns the trials that a thread has made so far; `trials_left` is the value in force. */
static inline uint64_t bp_thread_trials(const struct bp_thread *thread, uint64_t trials_left)
{
	return bp_sampler_trials(&thread->sampler, trials_left) + thread->hot->unoffered_trials;
}

/* Called in a visit's begin if the recorder was opened late: a thread that is not known, or only
 * from an earlier attachment, begins anew, with the object that is being charged (`charged` trials;
 * 0: none). */
void bp_thread_meet(uint64_t charged);

/* Called while no thread can begin a visit: waits for those that are in one, for `wait_ns` at most.
 * False: one did not come out of it. */
bool bp_threads_are_quiet(uint64_t wait_ns);
/* Called then: forgets all threads, each of which begins anew at its next visit. */
void bp_threads_forget(void);
/* The same in a child of fork, whose parent's threads these were. */
void bp_threads_forget_all(void);

/* Stores the counters, and `trials_left` as `armed`, in the slot, where readers find them. */
void bp_thread_publish(struct bp_thread *thread, uint64_t trials_left);

/* Ends the calling thread, whose countdown is empty: writes its totals to the trace, and frees its
 * block and its slot. Called at the end of a visit (visit.h). */
void bp_thread_end(struct bp_thread *thread);

/* Called when the visit of the calling thread will never end, because a signal handler that
 * interrupted it ended the thread or the process, or left the visit by siglongjmp. The thread stays
 * busy, because it may hold locks, and so is not sampled any more. Its counters since the begin of
 * the visit are corrected, and count as not passed to the sampler and as lost. From now on every
 * allocation publishes the counters (bp_thread_pass). False: the thread is busy without a visit,
 * and nothing was done. May be called again. */
bool bp_thread_lose(void);

/* Called when a charge of a lost thread borrowed. The charge was counted. */
void bp_thread_pass(void);

/* Sums over all threads, ended ones included, as of now. The sums may miss something of
 * `open_threads` threads: some cannot be read (they ended without a destructor, or are too busy),
 * and others allocate (they have made something since the last call, and may do so before they
 * publish again). These threads may have made at most `open_trials` more. (In a first call every
 * thread seems to allocate, so that a second call has to follow.) False: a lock was held, and
 * `wait` is false, because the calling thread itself may hold it. */
struct bp_totals {
	uint64_t trials, objects, unoffered_trials, unoffered_objects;
	uint64_t open_threads, open_trials;
	bool has_others; /* other threads run beside the calling one */
};
bool bp_threads_totals(struct bp_totals *ret_totals, bool wait);

/* Called at the begin and the end of a visit, for threads that read this thread's counters: they
 * store what the thread has made so far, with the countdown `left`. */
static inline void bp_thread_enter(struct bp_thread *thread, uint64_t left, uint64_t objects)
{
	__atomic_store_n(&thread->visit_trials, bp_thread_trials(thread, left), __ATOMIC_RELAXED);
	__atomic_store_n(&thread->visit_objects, objects, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->visits, thread->visits + 1, __ATOMIC_RELEASE);
}

static inline void bp_thread_leave(struct bp_thread *thread)
{
	__atomic_store_n(&thread->visits, thread->visits + 1, __ATOMIC_RELEASE);
	/* Before the numbers of the next visit. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void bp_thread_enter_again(struct bp_thread *thread, uint64_t left, uint64_t objects)
{
	bp_thread_leave(thread);
	bp_thread_enter(thread, left, objects);
}

/* The two counters of a running thread as of one moment, the control word that it follows, and its
 * T. `nested_...`: the part that signal handlers made within the thread's current visit (and more,
 * if a handler left that visit by a jump). False: the thread was too busy in all these attempts, or
 * has ended without a destructor. Called within bp_threads_each, and not for the calling thread. */
struct bp_thread_counters {
	uint64_t trials, objects, control, interval;
	uint64_t nested_trials, nested_objects;
};
bool bp_thread_read(
	const struct bp_thread *thread, uint32_t attempts, struct bp_thread_counters *ret_counters);
/* Asks the system whether the thread runs. Called before bp_thread_read. */
bool bp_thread_is_running(const struct bp_thread *thread);

/* Calls `look` for every running thread that has allocated. No thread can end during that time.
 * `ret_ended` is what the ended threads have made. `look` takes no locks except those of the
 * writer. */
void bp_threads_each(void (*look)(struct bp_thread *thread, void *context), void *context,
	struct bp_totals *ret_ended);

/* Called in a child of fork: only the calling thread is left; its counters begin at zero, and its
 * random numbers anew. */
void bp_threads_after_fork(void);
void bp_threads_lock(void);
void bp_threads_unlock(void);

#endif
