/* SPDX-License-Identifier: MIT */
/*
 * Threads: birth at the first cold path, publication of their two counters in every one, death by a
 * thread-specific-data destructor. The caller is inside the recorder (busy).
 */
#ifndef BP_RECORDER_THREAD_H
#define BP_RECORDER_THREAD_H

#include "bytepoll/sampler.h"
#include "recorder/recorder.h"
#include "recorder/stack.h"

struct bp_thread {
	struct bp_sampler sampler;
	struct bp_hot *hot;		   /* its thread-local words */
	struct bp_thread_slot *slot;	   /* in the trace; NULL: none was free */
	struct bp_thread *next, *previous; /* all running ones; or next free block */
	uint64_t control;		   /* the control word it follows (control.h) */
	uint32_t ordinal, tid;
	uint32_t rounds;   /* of destructors seen */
	uint32_t measured; /* samples and frees that the budget looked at (budget.h) */
	bool ending;	   /* destructors run: every allocation publishes itself */
	struct bp_stack_capture capture;
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

/* Sums over all threads, ended ones included; exact but for what others do meanwhile. */
struct bp_totals {
	uint64_t trials, objects, unoffered_trials, unoffered_objects;
};
void bp_threads_totals(struct bp_totals *ret_totals);

/* In a child of fork: only the caller is left, its counters at zero, its generator drawn anew.
 * `armed`: value of trials_left the caller will arm with is returned. */
void bp_threads_after_fork(void);
void bp_threads_lock(void);
void bp_threads_unlock(void);

#endif
