/* SPDX-License-Identifier: MIT */
/*
 * A visit: one thread's stay inside the recorder, from the borrow to the return. While it lasts
 * bp_hot.busy is set and the hot countdown holds BP_VISIT_LEFT, so that a signal handler that
 * allocates meanwhile passes through: its objects are counted, but never offered to the sampler.
 * errno is the program's again afterwards. Listeners (listeners.h)
 * are told after it, when the thread is the program's.
 */
#ifndef BP_RECORDER_VISIT_H
#define BP_RECORDER_VISIT_H

#include "base/system_call.h"
#include "recorder/listeners.h"
#include "recorder/recorder.h"
#include "recorder/seal.h"
#include "recorder/thread.h"

/* A countdown nobody reaches. */
#define BP_VISIT_LEFT ((uint64_t)1 << 62)

struct bp_visit {
	struct bp_hot *hot;
	struct bp_thread *thread;
	uint64_t left;	  /* the thread's countdown, wrapped if a charge borrowed */
	uint64_t objects; /* its objects at entry */
	int saved_errno;
	uint32_t event_count; /* of thread->events, which listeners are told of at the end */
};

/* `charged`: trials of the object whose charge borrowed, 0 if none did. False: pass through (nested,
 * or the recorder is off); nothing was changed. */
static inline bool bp_visit_begin(struct bp_visit *visit, uint64_t charged)
{
	struct bp_hot *hot = &bp_hot;
	if (hot->busy || bp_recorder.seal == BP_SEAL_ALL)
		return false;
	hot->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	visit->hot = hot;
	visit->event_count = 0;
	visit->saved_errno = errno;
	if (bp_likely(__atomic_load_n(&bp_recorder.mode, __ATOMIC_ACQUIRE) == BP_MODE_ON) ||
		bp_recorder_is_on()) {
		if (bp_unlikely(*bp_recorder.fork_mark == 0))
			bp_recorder_unmarked_child(charged);
		visit->thread = bp_thread_self();
		if (visit->thread != NULL && bp_recorder.mode == BP_MODE_ON) {
			const uint64_t left = hot->counters.trials_left;
			visit->objects = hot->counters.objects;
			/* Told before the countdown is out of reach: see thread.c, "Counters". */
			bp_thread_enter(visit->thread, left, visit->objects);
			visit->left = __atomic_exchange_n(
				&hot->counters.trials_left, BP_VISIT_LEFT, __ATOMIC_RELAXED);
			if (bp_unlikely(visit->left != left)) /* a signal handler, just now */
				bp_thread_enter_again(visit->thread, visit->left, visit->objects);
			/* Before the sampler behind it moves. */
			__atomic_thread_fence(__ATOMIC_RELEASE);
			return true;
		}
	}
	errno = visit->saved_errno;
	hot->busy = 0;
	return false;
}

/* The thread is the program's again, and goes on with `trials_left` (unwrapped). */
static inline void bp_visit_leave(struct bp_visit *visit, uint64_t trials_left)
{
	struct bp_hot *hot = visit->hot;
	if (bp_unlikely(visit->thread->ending || bp_recorder.ended))
		trials_left = bp_sampler_look_next(&visit->thread->sampler, trials_left);
	/* Published before the countdown runs: whoever reads the two words from outside, and the slot's
	 * generation before and after, knows that they belong together. */
	bp_thread_publish(visit->thread, trials_left);
	uint64_t left =
		__atomic_exchange_n(&hot->counters.trials_left, trials_left, __ATOMIC_RELEASE);
	bp_thread_leave(visit->thread);
	if (bp_unlikely(left != BP_VISIT_LEFT)) {
		/* A signal handler allocated meanwhile. */
		hot->unoffered_trials += BP_VISIT_LEFT - left;
		hot->unoffered_objects += hot->counters.objects - visit->objects;
		bp_thread_publish(visit->thread, trials_left);
	}
	if (bp_unlikely(hot->late)) /* no destructor will come for it */
		bp_thread_end(visit->thread);
	if (bp_unlikely(bp_recorder.ended))
		bp_recorder_end(BP_END_NONE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	errno = visit->saved_errno;
	hot->busy = 0;
}

/* Ends the visit: leaves, and listeners are told. */
static inline void bp_visit_end(struct bp_visit *visit, uint64_t trials_left)
{
	if (bp_unlikely(visit->event_count != 0))
		bp_listeners_end_visit(visit, trials_left);
	else
		bp_visit_leave(visit, trials_left);
}

#endif
