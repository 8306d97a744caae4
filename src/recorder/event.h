/* SPDX-License-Identifier: MIT */
/*
 * What happened in a visit, written down: a sample, the free of one. Both go to the trace, to
 * tracepoints, and, where somebody listens (listeners.h), to the end of the visit, which tells of them.
 * All within a visit; the caller has taken the event's number before memory could change hands.
 */
#ifndef BP_RECORDER_EVENT_H
#define BP_RECORDER_EVENT_H

#include "recorder/call.h"
#include "recorder/tracepoints.h"
#include "recorder/visit.h"

/* Asks the sampler about a charged object. True: bp_control_note is due when its answer is carried
 * out. */
bool bp_event_offer(struct bp_visit *visit, size_t size, struct bp_decision *ret_decision);

/* A sample as the trace has it, beside what the visit and the thread know. */
struct bp_event_sample {
	const struct bp_call *call;
	const struct bp_decision *decision;
	const void *object; /* placed already */
	uint64_t sequence;
	size_t usable; /* 0: not known */
	uint32_t type; /* of the pool that it is of; 0: none */
};

/* Writes it, with the stack that the caller has captured (bp_stack_capture, not called from here because
 * each frame of the recorder's own takes part of a walk). False: lost, and counted. */
bool bp_event_sampled(struct bp_visit *visit, const struct bp_event_sample *sample);

/* Writes that `object`, the sample of that number, was freed. `ahead`: trials of an object that is counted already,
 * although it is made after the free (by the realloc that frees); 0: none is. */
void bp_event_freed(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end, uint64_t ahead);

#endif
