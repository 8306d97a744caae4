/* SPDX-License-Identifier: MIT */
/*
 * Records the events of a visit: a sample, and the free of one. Each goes to the trace and to the
 * tracepoints; if there are listeners (listeners.h), the end of the visit calls them with it. All
 * functions are called within a visit. The caller has taken the event's sequence number before
 * another thread could get the memory.
 */
#ifndef BP_RECORDER_EVENT_H
#define BP_RECORDER_EVENT_H

#include "recorder/call.h"
#include "recorder/tracepoints.h"
#include "recorder/visit.h"

/* The fields of a sample that the visit and its thread do not have. */
struct bp_event_sample {
	const struct bp_call *call;
	const struct bp_decision *decision;
	const void *object; /* at its final address */
	uint64_t sequence;
	size_t usable; /* 0: not known */
	uint32_t type; /* of its pool; 0: none */
};

/* Called once, before the first visit: whether stacks and processors of frees are recorded. Returns
 * the flag of the trace's header that says so, or 0. */
uint64_t bp_event_begin(bool free_stacks);

/* Records a sample, with the stack that the caller has captured. (bp_stack_capture is not called
 * from here, because each frame of the recorder's own makes the walk longer.) False: the sample is
 * lost, and counted as lost. */
bool bp_event_sampled(struct bp_visit *visit, const struct bp_event_sample *sample);

/* Records that `object`, the sample with the number `sample_sequence`, was freed, with the
 * stack of the calling thread and its processor where these are recorded. `ahead`: in a
 * realloc the trials of the new object, which are counted before the free; otherwise 0. What
 * the thread has captured before is overwritten, so that no sample may be recorded before the
 * free in the same visit. */
void bp_event_freed(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end, uint64_t ahead);

/* The same for an object that was freed before this visit: by a signal handler that interrupted the
 * recorder, or by a function without a hook. The stack of that free is not known, and none is
 * recorded. */
void bp_event_freed_earlier(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end);

#endif
