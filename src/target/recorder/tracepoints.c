/* SPDX-License-Identifier: MIT */
/* See tracepoints.h. What malloc is asked for has no type and no heap that the recorder knew of;
 * pools have names. */
#include "recorder/tracepoints.h"

#include "bytepoll/sampler.h"
#include "recorder/program/pools.h"
#include "sampler/amount.h"

void bp_tell_sample(const struct bp_record_sample *record)
{
	bp_tracepoint_tell_alloc(&(struct bp_tracepoint_alloc){
		.object = (const void *)record->address,
		.size = record->size,
		.amount_bytes = bp_amount_bytes(
			record->size, BP_SAMPLER_CHARGE, record->interval_bytes, record->exact),
		.kind = record->kind,
		.type_name = bp_pools_type_name(record->type),
		.thread = record->thread,
		.sequence = record->sequence,
		.interval = record->interval_bytes,
		.offset = record->exact ? 0 : record->offset,
		.time_ns = record->time_ns,
	});
}

void bp_tell_free(
	const struct bp_record_free *record, const void *object, enum bp_tracepoint_end end)
{
	bp_tracepoint_tell_free(&(struct bp_tracepoint_free){
		.object = object,
		.sample = record->sample_sequence,
		.sequence = record->sequence,
		.thread = record->thread,
		.end = end,
		.time_ns = record->time_ns,
	});
}
