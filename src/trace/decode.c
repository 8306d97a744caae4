/* SPDX-License-Identifier: MIT */
/*
 * Decoding of single records. A record is
 *
 *	OFFSET  SIZE    MEANING
 *	0       1       tag
 *	1       1..10   length, varint
 *	..      length  fields, in the order of docs/trace-format.md, section 3
 *
 * Each decoder below reads its fields in that order from a cursor bounded by the length, which
 * gives zeros once something did not fit; whether it all did is asked once, at the end. Only then
 * does the decoding state move on [state is that after the last whole record]. Bytes beyond the
 * known fields are a later minor version's and are left alone.
 */
#include <stdlib.h>

#include "base/vec.h"
#include "trace/decode.h"

static uint32_t take_u32(struct bp_bytes *fields)
{
	uint64_t value = bp_bytes_varint(fields);
	if (value > UINT32_MAX)
		fields->failed = true;
	return (uint32_t)value;
}

static struct bp_trace_text take_text(struct bp_bytes *fields)
{
	uint64_t bytes = bp_bytes_varint(fields);
	const uint8_t *data = bp_bytes_take(fields, bytes);
	if (data == NULL)
		return (struct bp_trace_text){ .data = "", .bytes = 0 };
	return (struct bp_trace_text){ .data = (const char *)data, .bytes = (uint32_t)bytes };
}

static uint64_t take_delta(struct bp_bytes *fields, uint64_t base)
{
	return base + (uint64_t)bp_bytes_zigzag(fields);
}

static bool decode_sample(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_sample *sample)
{
	uint8_t flags = sample->flags = bp_bytes_u8(fields);
	uint64_t trials = state->trials, objects = state->objects;
	sample->kind = bp_bytes_u8(fields);
	sample->thread = state->thread;
	if (flags & BP_SAMPLE_THREAD) {
		sample->thread = take_u32(fields);
		trials = objects = 0;
	}
	sample->sequence = take_delta(fields, state->sequence);
	sample->time_ns = take_delta(fields, state->time_ns);
	sample->address = take_delta(fields, state->address);
	sample->size = bp_bytes_varint(fields);
	uint64_t alignment = flags & BP_SAMPLE_ALIGNMENT ? bp_bytes_varint(fields) : 0;
	if (alignment > 63)
		fields->failed = true;
	sample->alignment_log2 = (uint8_t)alignment;
	sample->usable = 0;
	if ((flags & BP_SAMPLE_USABLE) &&
		__builtin_add_overflow(sample->size, bp_bytes_varint(fields), &sample->usable))
		fields->failed = true;
	sample->exact = flags & BP_SAMPLE_EXACT;
	sample->offset = sample->exact ? 0 : bp_bytes_varint(fields);
	sample->stack = take_u32(fields);
	sample->trials = trials + bp_bytes_varint(fields);
	sample->objects = objects + bp_bytes_varint(fields);
	sample->interval = state->interval;
	sample->law = state->law;
	if (flags & BP_SAMPLE_INTERVAL) {
		sample->interval = bp_bytes_varint(fields);
		sample->law = take_u32(fields);
	}
	if (fields->failed || sample->law > BP_LAW_BERNOULLI)
		return false;
	state->thread = sample->thread;
	state->sequence = sample->sequence;
	state->time_ns = sample->time_ns;
	state->address = sample->address;
	state->trials = sample->trials;
	state->objects = sample->objects;
	return true;
}

static bool decode_free(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_free *record)
{
	uint8_t flags = record->flags = bp_bytes_u8(fields);
	uint64_t trials = state->trials, objects = state->objects;
	record->thread = state->thread;
	if (flags & BP_FREE_THREAD) {
		record->thread = take_u32(fields);
		trials = objects = 0;
	}
	record->sequence = take_delta(fields, state->sequence);
	record->time_ns = take_delta(fields, state->time_ns);
	record->sample_sequence = record->sequence - bp_bytes_varint(fields);
	record->trials = trials + bp_bytes_varint(fields);
	record->objects = objects + bp_bytes_varint(fields);
	record->stack = flags & BP_FREE_STACK ? take_u32(fields) : 0;
	if (fields->failed)
		return false;
	state->thread = record->thread;
	state->sequence = record->sequence;
	state->time_ns = record->time_ns;
	state->trials = record->trials;
	state->objects = record->objects;
	return true;
}

/* False with `fields` not failed: no memory. A frame takes a byte at least, so the depth is bounded
 * by the bytes that are there before anything is allocated for it. */
static bool decode_stack(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_stack *stack)
{
	uint64_t pc = 0;
	stack->id = take_u32(fields);
	stack->flags = bp_bytes_varint(fields);
	stack->epoch = take_u32(fields);
	stack->depth = take_u32(fields);
	if (stack->depth > bp_bytes_left(fields))
		fields->failed = true;
	if (fields->failed || !bp_vec_reserve(&state->frames, &state->frame_capacity, stack->depth,
				      sizeof *state->frames))
		return false;
	for (uint32_t i = 0; i < stack->depth; i++) {
		uint64_t code = bp_bytes_varint(fields);
		pc += (uint64_t)bp_unzigzag(code >> 1);
		state->frames[i] = (struct bp_trace_frame){ .pc = pc, .exact = code & 1 };
	}
	stack->frames = state->frames;
	return !fields->failed;
}

static bool decode_module(struct bp_bytes *fields, struct bp_trace_module *module, bool gone)
{
	*module = (struct bp_trace_module){ .id = take_u32(fields) };
	module->epoch = take_u32(fields);
	if (gone)
		return !fields->failed;
	module->start = bp_bytes_varint(fields);
	module->end = bp_bytes_varint(fields);
	module->bias = bp_bytes_varint(fields);
	module->file_bytes = bp_bytes_varint(fields);
	module->file_mtime_ns = bp_bytes_varint(fields);
	module->build_id = take_text(fields);
	module->path = take_text(fields);
	return !fields->failed;
}

static bool decode_thread(struct bp_bytes *fields, struct bp_trace_thread_event *thread, bool end)
{
	*thread = (struct bp_trace_thread_event){ .ordinal = take_u32(fields) };
	thread->tid = take_u32(fields);
	thread->time_ns = bp_bytes_varint(fields);
	if (end) {
		thread->trials = bp_bytes_varint(fields);
		thread->objects = bp_bytes_varint(fields);
		thread->unoffered_trials = bp_bytes_varint(fields);
		thread->unoffered_objects = bp_bytes_varint(fields);
	}
	thread->name = take_text(fields);
	return !fields->failed;
}

static bool decode_exec(struct bp_bytes *fields, struct bp_trace_exec *exec)
{
	exec->time_ns = bp_bytes_varint(fields);
	exec->sequence = bp_bytes_varint(fields);
	exec->pid = take_u32(fields);
	exec->unseen = take_u32(fields);
	exec->path = take_text(fields);
	return !fields->failed;
}

static bool decode_fork(struct bp_bytes *fields, struct bp_trace_fork *fork)
{
	fork->time_ns = bp_bytes_varint(fields);
	fork->sequence = bp_bytes_varint(fields);
	fork->child_pid = take_u32(fields);
	return !fields->failed;
}

static bool decode_interval(struct bp_bytes *fields, struct bp_trace_interval *interval)
{
	interval->thread = take_u32(fields);
	interval->time_ns = bp_bytes_varint(fields);
	interval->sequence = bp_bytes_varint(fields);
	interval->trials = bp_bytes_varint(fields);
	interval->objects = bp_bytes_varint(fields);
	interval->interval = bp_bytes_varint(fields);
	interval->command = bp_bytes_varint(fields);
	return !fields->failed;
}

static bool decode_fields(
	struct bp_trace_decoder *decoder, struct bp_bytes *fields, struct bp_trace_record *record)
{
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		return decode_sample(decoder, fields, &record->sample);
	case BP_TAG_FREE:
		return decode_free(decoder, fields, &record->free);
	case BP_TAG_STACK:
		return decode_stack(decoder, fields, &record->stack);
	case BP_TAG_MODULE:
	case BP_TAG_MODULE_GONE:
		return decode_module(fields, &record->module, record->tag == BP_TAG_MODULE_GONE);
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		return decode_thread(fields, &record->thread, record->tag == BP_TAG_THREAD_END);
	case BP_TAG_EXEC:
		return decode_exec(fields, &record->exec);
	case BP_TAG_FORK:
		return decode_fork(fields, &record->fork);
	case BP_TAG_INTERVAL:
		return decode_interval(fields, &record->interval);
	case BP_TAG_FOLDED:
		return bp_trace_decode_folded(fields, &record->folded);
	case BP_TAG_READINGS:
		return bp_trace_decode_readings(fields, &record->readings);
	case BP_TAG_TICKS:
		return bp_trace_decode_ticks(fields, &record->ticks);
	case BP_TAG_HELD:
		return bp_trace_decode_ranges(fields, &record->ranges);
	}
	return false;
}

enum bp_trace_decoded bp_trace_decode(
	struct bp_trace_decoder *decoder, struct bp_trace_record *ret_record)
{
	uint8_t tag = bp_bytes_u8(&decoder->payload);
	uint64_t length = bp_bytes_varint(&decoder->payload);
	const uint8_t *data = bp_bytes_take(&decoder->payload, length);
	if (data == NULL)
		return BP_TRACE_MALFORMED;
	ret_record->tag = (enum bp_tag)tag;
	if (tag < BP_TAG_SAMPLE || tag > BP_TAG_HELD)
		return tag & BP_TAG_FATAL_BIT ? BP_TRACE_FATAL : BP_TRACE_SKIPPED;
	struct bp_bytes fields = bp_bytes_of(data, (size_t)length);
	if (decode_fields(decoder, &fields, ret_record))
		return BP_TRACE_DECODED;
	return tag == BP_TAG_STACK && !fields.failed ? BP_TRACE_NO_MEMORY : BP_TRACE_MALFORMED;
}
