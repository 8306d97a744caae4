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

/* The numbers of a record, of which a report reads a hundred million: whether they ended with the
 * record is asked once, behind the last. Until then they are read from behind it too, where they
 * mean nothing. */
struct numbers {
	const uint8_t *at;
	bool failed;
};

#define NUMBERS_MOST 20u /* in a record: at most ten bytes each, and eight are loaded at a time */
_Static_assert(BP_TRACE_SLACK >= NUMBERS_MOST * BP_VARINT_MAX_BYTES + 8, "what may be read");

/* Of more than eight bytes. `end` NULL: it is none. */
struct long_number {
	uint64_t value;
	const uint8_t *end;
};

static __attribute__((noinline)) struct long_number read_long(const uint8_t *at)
{
	struct bp_bytes bytes = bp_bytes_of(at, BP_VARINT_MAX_BYTES);
	const uint64_t value = bp_bytes_varint(&bytes);
	return (struct long_number){ value, bytes.failed ? NULL : bytes.at };
}

/* A varint. How long it is is hard to foresee, so it is not asked byte by byte: of most the two
 * first bytes are taken, of others the seven bits of each of eight are moved together, pairs,
 * fours, and all. */
static inline __attribute__((always_inline)) uint64_t number(struct numbers *from)
{
	uint64_t word;
	__builtin_memcpy(&word, from->at, sizeof word);
	if ((word & 0x8080) != 0x8080) {
		const uint64_t more = word >> 7 & 1;
		from->at += 1 + more;
		return (word & 0x7F) | (word >> 1 & 0x3F80 & (0 - more));
	}
	const uint64_t ends = ~word & 0x8080808080808080u;
	if (ends == 0) {
		const struct long_number read = read_long(from->at);
		from->failed = from->failed || read.end == NULL;
		from->at = read.end == NULL ? from->at : read.end;
		return read.value;
	}
	from->at += ((unsigned)__builtin_ctzll(ends) + 1) / 8;
	word &= (ends ^ (ends - 1)) & 0x7F7F7F7F7F7F7F7Fu;
	word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
	word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
	return (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
}

/* One that is mostly of one byte. */
static inline __attribute__((always_inline)) uint64_t small_number(struct numbers *from)
{
	return *from->at < 0x80 ? *from->at++ : number(from);
}

static inline __attribute__((always_inline)) uint32_t number_of_32(struct numbers *from)
{
	const uint64_t value = number(from);
	if (value > UINT32_MAX)
		from->failed = true;
	return (uint32_t)value;
}

static inline __attribute__((always_inline)) uint64_t changed(struct numbers *from, uint64_t base)
{
	return base + (uint64_t)bp_unzigzag(number(from));
}

/* The number of a processor and 1. */
static inline __attribute__((always_inline)) uint32_t processor_of(struct numbers *from)
{
	const uint32_t processor = number_of_32(from);
	if (processor == UINT32_MAX)
		from->failed = true;
	return processor + 1;
}

/* (Samples and frees are decoded in a loop that keeps `state` in registers, hence inline.) */
static inline __attribute__((always_inline)) bool decode_sample(struct bp_trace_decoder *state,
	const uint8_t *fields, const uint8_t *end, struct bp_trace_sample *sample)
{
	struct numbers from = { .at = fields };
	uint8_t flags = sample->flags = *from.at++;
	uint64_t trials = state->trials, objects = state->objects;
	sample->kind = *from.at++;
	sample->thread = state->thread;
	if (flags & BP_SAMPLE_THREAD) {
		sample->thread = number_of_32(&from);
		trials = objects = 0;
	}
	sample->sequence = state->sequence + (uint64_t)bp_unzigzag(small_number(&from));
	sample->time_ns = changed(&from, state->time_ns);
	sample->address = changed(&from, state->address);
	sample->size = number(&from);
	uint64_t alignment = flags & BP_SAMPLE_ALIGNMENT ? number(&from) : 0;
	if (alignment > 63)
		from.failed = true;
	sample->alignment_log2 = (uint8_t)alignment;
	sample->usable = 0;
	if ((flags & BP_SAMPLE_USABLE) &&
		__builtin_add_overflow(sample->size, small_number(&from), &sample->usable))
		from.failed = true;
	sample->exact = flags & BP_SAMPLE_EXACT;
	sample->offset = sample->exact ? 0 : small_number(&from);
	sample->stack = number_of_32(&from);
	sample->trials = trials + number(&from);
	sample->objects = objects + small_number(&from);
	sample->interval = state->interval;
	sample->law = state->law;
	if (flags & BP_SAMPLE_INTERVAL) {
		sample->interval = number(&from);
		sample->law = number_of_32(&from);
	}
	sample->labels = flags & BP_SAMPLE_LABELS ? number_of_32(&from) : 0;
	sample->type = sample->heap = 0;
	if (flags & BP_SAMPLE_TOLD) {
		sample->type = number_of_32(&from);
		sample->heap = number_of_32(&from);
	}
	sample->processor = flags & BP_SAMPLE_PROCESSOR ? processor_of(&from) : 0;
	if (from.failed || from.at > end || sample->law > BP_LAW_BERNOULLI)
		return false;
	state->thread = sample->thread;
	state->sequence = sample->sequence;
	state->time_ns = sample->time_ns;
	state->address = sample->address;
	state->trials = sample->trials;
	state->objects = sample->objects;
	return true;
}

static inline __attribute__((always_inline)) bool decode_free(struct bp_trace_decoder *state,
	const uint8_t *fields, const uint8_t *end, struct bp_trace_free *record)
{
	struct numbers from = { .at = fields };
	uint8_t flags = record->flags = *from.at++;
	uint64_t trials = state->trials, objects = state->objects;
	record->thread = state->thread;
	if (flags & BP_FREE_THREAD) {
		record->thread = number_of_32(&from);
		trials = objects = 0;
	}
	record->sequence = state->sequence + (uint64_t)bp_unzigzag(small_number(&from));
	record->time_ns = changed(&from, state->time_ns);
	record->sample_sequence = record->sequence - number(&from);
	record->trials = trials + number(&from);
	record->objects = objects + small_number(&from);
	record->stack = flags & BP_FREE_STACK ? number_of_32(&from) : 0;
	record->processor = flags & BP_FREE_PROCESSOR ? processor_of(&from) : 0;
	if (from.failed || from.at > end)
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
static bool take_depth(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_stack *stack)
{
	stack->depth = take_u32(fields);
	if (stack->depth > bp_bytes_left(fields))
		fields->failed = true;
	return !fields->failed && bp_vec_reserve(&state->frames, &state->frame_capacity,
					  stack->depth, sizeof *state->frames);
}

static bool decode_stack(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_stack *stack)
{
	uint64_t pc = 0;
	*stack = (struct bp_trace_stack){ .id = take_u32(fields) };
	stack->flags = bp_bytes_varint(fields);
	stack->epoch = take_u32(fields);
	if (!take_depth(state, fields, stack))
		return false;
	for (uint32_t i = 0; i < stack->depth; i++) {
		uint64_t code = bp_bytes_varint(fields);
		pc += (uint64_t)bp_unzigzag(code >> 1);
		state->frames[i] = (struct bp_trace_frame){ .pc = pc, .exact = code & 1 };
	}
	stack->frames = state->frames;
	return !fields->failed;
}

/* Ids of frames: deltas of 64 bits, of which the sums must have 32. */
static bool decode_named_stack(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_stack *stack)
{
	uint64_t id = 0;
	*stack = (struct bp_trace_stack){ .id = take_u32(fields), .named = true };
	stack->flags = bp_bytes_varint(fields);
	if (!take_depth(state, fields, stack))
		return false;
	for (uint32_t i = 0; i < stack->depth; i++) {
		id = take_delta(fields, id);
		if (id > UINT32_MAX)
			fields->failed = true;
		state->frames[i] = (struct bp_trace_frame){ .pc = id, .exact = true };
	}
	stack->frames = state->frames;
	return !fields->failed;
}

/* Pairs of a frame and a position, of 32 bits each. */
static bool decode_mixed_stack(
	struct bp_trace_decoder *state, struct bp_bytes *fields, struct bp_trace_stack *stack)
{
	uint64_t id = 0, position = 0;
	*stack = (struct bp_trace_stack){ .id = take_u32(fields), .named = true };
	stack->native = take_u32(fields);
	stack->flags = bp_bytes_varint(fields);
	if (!take_depth(state, fields, stack))
		return false;
	if (stack->depth == 0 || stack->depth > BP_NAMED_STACK_MAX_DEPTH || stack->native == 0)
		fields->failed = true;
	for (uint32_t i = 0; i < stack->depth; i++) {
		id = take_delta(fields, id);
		const uint64_t growth = bp_bytes_varint(fields);
		if (id > UINT32_MAX || growth > UINT32_MAX - position)
			fields->failed = true;
		position = (position + growth) & UINT32_MAX;
		state->frames[i] = (struct bp_trace_frame){ .pc = position << 32 | (uint32_t)id,
			.exact = true };
	}
	stack->frames = state->frames;
	return !fields->failed;
}

static bool decode_interpreter(struct bp_bytes *fields, struct bp_trace_interpreter *interpreter)
{
	*interpreter = (struct bp_trace_interpreter){ .version = take_u32(fields) };
	interpreter->address = bp_bytes_varint(fields);
	interpreter->frames = take_u32(fields);
	interpreter->objects = take_u32(fields);
	interpreter->small_bytes = bp_bytes_varint(fields);
	interpreter->name = take_text(fields);
	return !fields->failed;
}

/* TYPE, FRAME and LABELS. */
static bool decode_name(struct bp_bytes *fields, bool frame, struct bp_trace_name *name)
{
	*name = (struct bp_trace_name){ .id = take_u32(fields) };
	if (frame)
		name->line = take_u32(fields);
	name->text = take_text(fields);
	if (frame)
		name->file = take_text(fields);
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

/* A time that stands for itself. */
static uint64_t take_time(const struct bp_trace_decoder *decoder, struct bp_bytes *fields)
{
	return bp_bytes_varint(fields) - decoder->clock_offset_ns;
}

static bool decode_thread(const struct bp_trace_decoder *decoder, struct bp_bytes *fields,
	struct bp_trace_thread_event *thread, bool end)
{
	*thread = (struct bp_trace_thread_event){ .ordinal = take_u32(fields) };
	thread->tid = take_u32(fields);
	thread->time_ns = take_time(decoder, fields);
	if (end) {
		thread->trials = bp_bytes_varint(fields);
		thread->objects = bp_bytes_varint(fields);
		thread->unoffered_trials = bp_bytes_varint(fields);
		thread->unoffered_objects = bp_bytes_varint(fields);
	}
	thread->name = take_text(fields);
	return !fields->failed;
}

static bool decode_exec(
	const struct bp_trace_decoder *decoder, struct bp_bytes *fields, struct bp_trace_exec *exec)
{
	exec->time_ns = take_time(decoder, fields);
	exec->sequence = bp_bytes_varint(fields);
	exec->pid = take_u32(fields);
	exec->unseen = take_u32(fields);
	exec->path = take_text(fields);
	return !fields->failed;
}

static bool decode_fork(
	const struct bp_trace_decoder *decoder, struct bp_bytes *fields, struct bp_trace_fork *fork)
{
	fork->time_ns = take_time(decoder, fields);
	fork->sequence = bp_bytes_varint(fields);
	fork->child_pid = take_u32(fields);
	return !fields->failed;
}

static bool decode_interval(const struct bp_trace_decoder *decoder, struct bp_bytes *fields,
	struct bp_trace_interval *interval)
{
	interval->thread = take_u32(fields);
	interval->time_ns = take_time(decoder, fields);
	interval->sequence = bp_bytes_varint(fields);
	interval->trials = bp_bytes_varint(fields);
	interval->objects = bp_bytes_varint(fields);
	interval->interval = bp_bytes_varint(fields);
	interval->command = bp_bytes_varint(fields);
	interval->bound = BP_COUNTERS_THEN;
	if (fields->at == fields->end) /* (so up to version 1.8) */
		return !fields->failed;
	const uint64_t bound = bp_bytes_varint(fields);
	interval->bound = (enum bp_counters_bound)bound;
	return !fields->failed && bound <= BP_COUNTERS_AT_MOST;
}

static bool decode_outage(const struct bp_trace_decoder *decoder, struct bp_bytes *fields,
	struct bp_trace_outage *outage)
{
	outage->from_ns = take_time(decoder, fields);
	outage->to_ns = take_time(decoder, fields);
	return !fields->failed && outage->from_ns <= outage->to_ns && outage->to_ns != UINT64_MAX;
}

static bool decode_mapping(const struct bp_trace_decoder *decoder, struct bp_bytes *fields,
	struct bp_trace_mapping *mapping)
{
	mapping->thread = take_u32(fields);
	mapping->time_ns = take_time(decoder, fields);
	mapping->before = bp_bytes_varint(fields);
	mapping->sequence = bp_bytes_varint(fields);
	mapping->what = (enum bp_mapping_what)take_u32(fields);
	mapping->address = bp_bytes_varint(fields);
	mapping->bytes = bp_bytes_varint(fields);
	mapping->old_address = bp_bytes_varint(fields);
	mapping->old_bytes = bp_bytes_varint(fields);
	mapping->protection = take_u32(fields);
	mapping->flags = take_u32(fields);
	mapping->stack = take_u32(fields);
	return !fields->failed && mapping->before <= mapping->sequence &&
	       mapping->what >= BP_MAPPING_MAP && mapping->what <= BP_MAPPING_WHAT_MAX;
}

static bool decode_fields(
	struct bp_trace_decoder *decoder, struct bp_bytes *fields, struct bp_trace_record *record)
{
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		return decode_sample(decoder, fields->at, fields->end, &record->sample);
	case BP_TAG_FREE:
		return decode_free(decoder, fields->at, fields->end, &record->free);
	case BP_TAG_STACK:
		return decode_stack(decoder, fields, &record->stack);
	case BP_TAG_MODULE:
	case BP_TAG_MODULE_GONE:
		return decode_module(fields, &record->module, record->tag == BP_TAG_MODULE_GONE);
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		return decode_thread(
			decoder, fields, &record->thread, record->tag == BP_TAG_THREAD_END);
	case BP_TAG_EXEC:
		return decode_exec(decoder, fields, &record->exec);
	case BP_TAG_FORK:
		return decode_fork(decoder, fields, &record->fork);
	case BP_TAG_INTERVAL:
		return decode_interval(decoder, fields, &record->interval);
	case BP_TAG_FOLDED:
		return bp_trace_decode_folded(fields, false, &record->folded);
	case BP_TAG_FOLDED_TOLD:
		record->tag = BP_TAG_FOLDED;
		return bp_trace_decode_folded(fields, true, &record->folded);
	case BP_TAG_TYPE:
	case BP_TAG_FRAME:
	case BP_TAG_LABELS:
		return decode_name(fields, record->tag == BP_TAG_FRAME, &record->name);
	case BP_TAG_OUTAGE:
		return decode_outage(decoder, fields, &record->outage);
	case BP_TAG_MAPPING:
		return decode_mapping(decoder, fields, &record->mapping);
	case BP_TAG_NAMED_STACK:
		return decode_named_stack(decoder, fields, &record->stack);
	case BP_TAG_MIXED_STACK:
		return decode_mixed_stack(decoder, fields, &record->stack);
	case BP_TAG_INTERPRETER:
		return decode_interpreter(fields, &record->interpreter);
	case BP_TAG_READINGS:
		if (!bp_trace_decode_readings(fields, &record->readings))
			return false;
		record->readings.clock_offset_ns = decoder->clock_offset_ns;
		return true;
	case BP_TAG_TICKS:
		if (!bp_trace_decode_ticks(fields, &record->ticks))
			return false;
		record->ticks.clock_offset_ns = decoder->clock_offset_ns;
		return true;
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
	if ((tag < BP_TAG_SAMPLE || tag > BP_TAG_MAPPING) && tag != BP_TAG_FOLDED_TOLD)
		return tag & BP_TAG_FATAL_BIT ? BP_TRACE_FATAL : BP_TRACE_SKIPPED;
	struct bp_bytes fields = bp_bytes_of(data, (size_t)length);
	if (decode_fields(decoder, &fields, ret_record))
		return BP_TRACE_DECODED;
	const bool stack =
		tag == BP_TAG_STACK || tag == BP_TAG_NAMED_STACK || tag == BP_TAG_MIXED_STACK;
	return stack && !fields.failed ? BP_TRACE_NO_MEMORY : BP_TRACE_MALFORMED;
}

uint32_t bp_trace_decode_numbers(
	struct bp_trace_decoder *decoder, struct bp_trace_record *ret_records, uint32_t most)
{
	struct bp_trace_decoder state = *decoder;
	uint32_t count = 0;
	while (count < most && bp_bytes_left(&state.payload) > 2) {
		struct bp_trace_record *record = &ret_records[count];
		const uint8_t tag = state.payload.at[0], length = state.payload.at[1];
		const uint8_t *fields = state.payload.at + 2, *end = fields + length;
		if (length >= 0x80 || length > bp_bytes_left(&state.payload) - 2)
			break;
		if (tag == BP_TAG_SAMPLE) {
			if (!decode_sample(&state, fields, end, &record->sample))
				break;
		} else if (tag != BP_TAG_FREE || !decode_free(&state, fields, end, &record->free)) {
			break;
		}
		record->tag = (enum bp_tag)tag;
		state.payload.at = end;
		count++;
	}
	*decoder = state;
	return count;
}
