/* SPDX-License-Identifier: MIT */
/* See probes.h. */
#include "host/probes.h"

#include "base/system_call.h"

void bp_host_tell_sampled(const struct bp_host_event *event, const char *type_name)
{
	bp_tracepoint_tell_alloc(&(struct bp_tracepoint_alloc){
		.object = event->object,
		.size = event->size,
		.amount_bytes = event->amount_bytes,
		.kind = event->kind,
		.type_name = type_name,
		.type_id = event->type_id,
		.thread = event->thread,
		.sequence = event->sequence,
		.interval = event->decision.interval,
		.runtime = event->runtime,
		.heap = event->heap,
		.offset = event->decision.exact ? 0 : event->decision.offset,
		.time_ns = event->time_ns,
	});
}

void bp_host_tell_freed(const struct bp_record_free *record, const void *object)
{
	bp_tracepoint_tell_free(&(struct bp_tracepoint_free){
		.object = object,
		.sample = record->sample_sequence,
		.sequence = record->sequence,
		.thread = record->thread,
		.end = record->thread == 0 ? BP_TRACEPOINT_UNSEEN : BP_TRACEPOINT_FREED,
		.time_ns = record->time_ns,
	});
}

void bp_host_tell_moved(const void *from, const void *to, uint64_t sample)
{
	bp_tracepoint_tell_move(from, to, sample, bp_system_time_ns(CLOCK_MONOTONIC));
}
