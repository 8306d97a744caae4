/* SPDX-License-Identifier: MIT */
/* See event.h. */
#include "recorder/event.h"

#include <sched.h>
#include <sys/auxv.h>

#include "probes/test_points.h"
#include "python/interpreter.h"
#include "python/mixed_stack.h"
#include "recorder/program/labels.h"
#include "recorder/program/listeners.h"
#include "recorder/steering/budget.h"
#include "recorder/tracepoints.h"
#include "sampler/amount.h"
#include "unwind/machine.h"
#include "unwind/stack_table.h"

static uint8_t log2_of(size_t alignment)
{
	return alignment > 1 ? (uint8_t)__builtin_ctzll(alignment) : 0;
}

/* Returns the place of an event for listeners; NULL: there are none, or they are not called for
 * it. */
static struct bp_event *tell_later(struct bp_visit *visit, uint32_t what)
{
	if (bp_likely(!bp_listeners_any()))
		return NULL;
	if (visit->hot->telling != 0 || visit->event_count == BP_THREAD_EVENTS) {
		bp_listeners_untold();
		return NULL;
	}
	struct bp_event *event = &visit->thread->events[visit->event_count++];
	*event = (struct bp_event){ .what = what, .thread = visit->thread->ordinal };
	return event;
}

static double weight_of(const struct bp_decision *decision, uint64_t size)
{
	return decision->exact ? 1 : 1 / bp_inclusion(size + BP_SAMPLER_CHARGE, decision->interval);
}

static void tell_sample(struct bp_visit *visit, const struct bp_event_sample *sample,
	const struct bp_record_sample *record)
{
	struct bp_event *event = tell_later(visit, BP_EVENT_SAMPLED);
	if (bp_likely(event == NULL))
		return;
	event->kind = record->kind;
	event->object = (void *)(uintptr_t)sample->object;
	event->sample = event->sequence = record->sequence;
	event->time_ns = record->time_ns;
	event->trials = record->trials;
	event->objects = record->objects;
	event->exact = record->exact;
	event->size = record->size;
	event->usable = record->usable;
	event->alignment = sample->call->alignment;
	event->interval = record->interval_bytes;
	event->offset = record->exact ? 0 : record->offset;
	event->weight = weight_of(sample->decision, record->size);
	event->labels = visit->hot->labels;
	event->stack = record->stack;
	event->depth = visit->thread->capture.depth;
}

/* The number of the processor that the calling thread is on, and 1; 0: it is not recorded. */
static uint32_t processor_now(void)
{
	return bp_likely(!bp_recorder.records_processors) ? 0 : (uint32_t)(sched_getcpu() + 1);
}

bool bp_event_sampled(struct bp_visit *visit, const struct bp_event_sample *sample)
{
	struct bp_thread *thread = visit->thread;
	const struct bp_call *call = sample->call;
	const struct bp_decision *decision = sample->decision;
	struct bp_record_sample record = {
		.sequence = sample->sequence,
		.time_ns = bp_system_time_ns(CLOCK_MONOTONIC),
		.address = (uint64_t)sample->object,
		.size = call->size,
		.usable = sample->usable,
		.usable_known = sample->usable != 0,
		.offset = decision->offset,
		.exact = decision->exact,
		.interval_bytes = decision->interval,
		.law = bp_recorder.law,
		.thread = thread->ordinal,
		.kind = call->kind,
		.alignment_log2 = log2_of(call->alignment),
		.trials = bp_thread_trials(thread, thread->sampler.armed),
		.objects = visit->objects,
		.labels = bp_labels_of(visit->hot->labels),
		.told = sample->type != 0,
		.type = sample->type,
		.processor = processor_now(),
	};
	record.stack = bp_likely(!bp_python.frames)
			       ? bp_stack_table_id(&bp_recorder.writer, &thread->capture)
			       : bp_mixed_stack_id(&bp_recorder.writer, &thread->capture,
					 &thread->python, call->kind == BP_KIND_PYTHON);
	if (!bp_writer_sample(&bp_recorder.writer, &record))
		return false;
	bp_probe_sample(sample->sequence);
	bp_trace_sample(&record);
	tell_sample(visit, sample, &record);
	return true;
}

uint64_t bp_event_begin(bool free_stacks)
{
	bp_recorder.records_free_stacks = free_stacks;
	/* Without a vDSO it would be a system call, which a filter may not allow. */
	bp_recorder.records_processors =
		free_stacks && BP_TELLS_PROCESSOR && getauxval(AT_SYSINFO_EHDR) != 0;
	return free_stacks ? BP_HEADER_FREE_STACKS : 0;
}

/* The stack of the free that the calling thread is in; 0 where stacks of frees are not recorded.
 * (Whether a thread that frees holds Python's lock is not known: free may be called without it.) */
static uint32_t stack_of_free(struct bp_thread *thread)
{
	if (bp_likely(!bp_recorder.records_free_stacks) || bp_recorder.writer.stopped)
		return 0;
	bp_stack_capture(&thread->capture);
	return bp_python.frames ? bp_mixed_stack_id(&bp_recorder.writer, &thread->capture,
					  &thread->python, false)
				: bp_stack_table_id(&bp_recorder.writer, &thread->capture);
}

/* `is_now`: the calling thread frees the object now, so that its stack is that of the free. */
static void record_free(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end, uint64_t ahead, bool is_now)
{
	const bool by_realloc = end == BP_TRACEPOINT_REALLOCATED;
	struct bp_thread *thread = visit->thread;
	const uint64_t began_ns = bp_budget_begin(thread);
	uint64_t left = visit->left > BP_SAMPLER_LOOK_MAX ? thread->sampler.armed : visit->left;
	struct bp_record_free record = {
		.sequence = sequence,
		.time_ns = bp_system_time_ns(CLOCK_MONOTONIC),
		.sample_sequence = sample_sequence,
		.thread = thread->ordinal,
		.trials = bp_thread_trials(thread, left) - ahead,
		.objects = visit->objects - (ahead != 0),
		.by_realloc = by_realloc,
	};
	if (is_now) {
		record.stack = stack_of_free(thread);
		record.processor = processor_now();
	}
	(void)bp_writer_free(&bp_recorder.writer, &record);
	bp_trace_free(&record, object, end);
	struct bp_event *event = tell_later(visit, BP_EVENT_FREED);
	if (bp_unlikely(event != NULL)) {
		event->object = (void *)(uintptr_t)object;
		event->sample = sample_sequence;
		event->sequence = sequence;
		event->time_ns = record.time_ns;
		event->trials = record.trials;
		event->objects = record.objects;
		event->by_realloc = by_realloc;
	}
	bp_budget_end(thread, began_ns);
}

void bp_event_freed(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end, uint64_t ahead)
{
	record_free(visit, object, sequence, sample_sequence, end, ahead, true);
}

void bp_event_freed_earlier(struct bp_visit *visit, const void *object, uint64_t sequence,
	uint64_t sample_sequence, enum bp_tracepoint_end end)
{
	record_free(visit, object, sequence, sample_sequence, end, 0, false);
}
