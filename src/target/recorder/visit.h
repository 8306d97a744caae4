/* SPDX-License-Identifier: MIT */
/*
 * A visit: the time that one thread spends inside the recorder, from the borrow to the return.
 * During a visit bp_hot.busy is set and the hot countdown holds BP_VISIT_LEFT, so that the
 * allocations of a signal handler pass through: they are counted, but never passed to the sampler.
 * At the end of the visit errno has its value from before. Listeners (listeners.h) are called after
 * the visit.
 */
#ifndef BP_RECORDER_VISIT_H
#define BP_RECORDER_VISIT_H

#include "base/system_call.h"
#include "python/interpreter.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/thread.h"

/* A countdown that no program reaches. */
#define BP_VISIT_LEFT ((uint64_t)1 << 62)

struct bp_visit {
	struct bp_hot *hot;
	struct bp_thread *thread;
	uint64_t left;	  /* the thread's countdown; it has wrapped if a charge borrowed */
	uint64_t objects; /* the thread's objects at entry */
	bool allocates;	  /* a charge borrowed: an object is being made */
	int saved_errno;
	uint32_t event_count; /* of thread->events, with which listeners are called at the end */
};

/* `charged`: the trials of the object whose charge borrowed; 0: no charge did. False: there is no
 * visit, and nothing was changed, because the thread is inside the recorder already or the recorder
 * is off. */
static inline bool bp_visit_begin(struct bp_visit *visit, uint64_t charged)
{
	struct bp_hot *hot = &bp_hot;
	if (hot->busy || bp_recorder.seal == BP_SEAL_ALL)
		return false;
	hot->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	bp_recorder_enter(); /* before it looks at the mode */
	visit->hot = hot;
	visit->event_count = 0;
	visit->allocates = charged != 0;
	visit->saved_errno = errno;
	if (bp_likely(__atomic_load_n(&bp_recorder.mode, __ATOMIC_ACQUIRE) == BP_MODE_ON) ||
		bp_recorder_is_on()) {
		if (bp_unlikely(*bp_recorder.fork_mark == 0))
			bp_recorder_unmarked_child(charged);
		if (bp_unlikely(bp_recorder.is_late))
			bp_thread_meet(charged);
		visit->thread = bp_thread_self();
		if (visit->thread != NULL && bp_recorder.mode == BP_MODE_ON) {
			const uint64_t left = hot->counters.trials_left;
			visit->objects = hot->counters.objects;
			/* Stored before the countdown is out of reach: see thread.c, "Counters". */
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
	bp_recorder_leave();
	errno = visit->saved_errno;
	hot->busy = 0;
	return false;
}

/* Ends the recorder's part of the visit. The thread goes on with `trials_left`, which has not
 * wrapped. */
static inline void bp_visit_leave(struct bp_visit *visit, uint64_t trials_left)
{
	struct bp_hot *hot = visit->hot;
	if (bp_unlikely(visit->thread->ending || bp_recorder.ended || bp_python_wants_look()))
		trials_left = bp_sampler_look_next(&visit->thread->sampler, trials_left);
	/* Published before the countdown runs: whoever reads the two words from outside, and the
	 * slot's generation before and after, knows that they belong together. */
	bp_thread_publish(visit->thread, trials_left);
	uint64_t left =
		__atomic_exchange_n(&hot->counters.trials_left, trials_left, __ATOMIC_RELEASE);
	bp_thread_leave(visit->thread);
	if (bp_unlikely(left != BP_VISIT_LEFT)) {
		/* A signal handler allocated meanwhile. */
		bp_hot_add_unoffered(
			hot, BP_VISIT_LEFT - left, hot->counters.objects - visit->objects);
		bp_thread_publish(visit->thread, trials_left);
	}
	if (bp_unlikely(hot->late)) /* no destructor will come for it */
		bp_thread_end(visit->thread);
	if (bp_unlikely(bp_recorder.ended))
		bp_recorder_end(BP_END_NONE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (bp_unlikely(bp_python.unsettled))
		bp_real_look_at_python(visit->allocates);
	bp_recorder_leave();
	errno = visit->saved_errno;
	hot->busy = 0;
}

/* Ends a visit that has events, and then calls the listeners: program/listeners.c. */
void bp_listeners_end_visit(struct bp_visit *visit, uint64_t trials_left);

/* Ends the visit, and calls the listeners. */
static inline void bp_visit_end(struct bp_visit *visit, uint64_t trials_left)
{
	if (bp_unlikely(visit->event_count != 0))
		bp_listeners_end_visit(visit, trials_left);
	else
		bp_visit_leave(visit, trials_left);
}

#endif
