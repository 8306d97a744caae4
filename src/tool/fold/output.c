/* SPDX-License-Identifier: MIT */
/* Encoding of records into sealed chunks; the mirror of trace/decode.c. See output.h. */
#include "fold/output.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define RECORD_MAX_BYTES 256 /* a SAMPLE or FREE: eighteen numbers and two bytes */

void bp_fold_output_init(struct bp_fold_output *output)
{
	*output = (struct bp_fold_output){ .chunks = 1 };
	output->failed = !bp_vec_reserve(&output->bytes, &output->capacity, BP_CHUNK_BYTES, 1);
	if (!output->failed)
		memset(output->bytes, 0, BP_CHUNK_BYTES);
}

void bp_fold_output_finish(struct bp_fold_output *output)
{
	free(output->bytes);
	*output = (struct bp_fold_output){ 0 };
}

static uint8_t *last_chunk(const struct bp_fold_output *output)
{
	return output->bytes + (size_t)(output->chunks - 1) * BP_CHUNK_BYTES;
}

void bp_fold_output_seal(struct bp_fold_output *output)
{
	struct bp_chunk_header header;
	if (!output->open || output->failed)
		return;
	uint8_t *chunk = last_chunk(output);
	memcpy(&header, chunk, sizeof header);
	header.committed = output->committed;
	header.sealed = 1;
	header.checksum = bp_checksum(chunk + sizeof header, output->committed);
	memcpy(chunk, &header, sizeof header);
	output->open = false;
}

/* A new chunk whose decoding state is that of its first record. */
static void begin_chunk(struct bp_fold_output *output, const struct bp_trace_sample *first)
{
	struct bp_chunk_header header = { .magic = BP_CHUNK_MAGIC, .kind = BP_CHUNK_RECORDS };
	bp_fold_output_seal(output);
	const uint64_t end = ((uint64_t)output->chunks + 1) * BP_CHUNK_BYTES;
	if (output->failed || end > UINT32_MAX ||
		!bp_vec_reserve(&output->bytes, &output->capacity, end, 1)) {
		output->failed = true;
		return;
	}
	header.number = output->chunks++;
	header.base_time_ns = output->time_ns = first->time_ns;
	header.base_sequence = output->sequence = first->sequence;
	header.interval_bytes = output->interval = first->interval;
	header.law = output->law = first->law;
	output->address = output->trials = output->objects = 0;
	output->thread = 0;
	output->committed = 0;
	output->open = true;
	memset(last_chunk(output), 0, BP_CHUNK_BYTES);
	memcpy(last_chunk(output), &header, sizeof header);
}

/* Room for `bytes`; false: there is none, or something failed before. */
static bool make_room(
	struct bp_fold_output *output, size_t bytes, const struct bp_trace_sample *first)
{
	if (bytes > BP_PAYLOAD_BYTES)
		output->failed = true;
	if (!output->failed && (!output->open || output->committed + bytes > BP_PAYLOAD_BYTES))
		begin_chunk(output, first);
	return !output->failed;
}

void bp_fold_put_raw(struct bp_fold_output *output, const uint8_t *data, size_t bytes)
{
	const struct bp_trace_sample as_before = { .time_ns = output->time_ns,
		.sequence = output->sequence,
		.interval = output->interval,
		.law = output->law };
	if (!make_room(output, bytes, &as_before))
		return;
	memcpy(last_chunk(output) + sizeof(struct bp_chunk_header) + output->committed, data,
		bytes);
	output->committed += (uint32_t)bytes;
}

void bp_fold_put_record(
	struct bp_fold_output *output, enum bp_tag tag, const uint8_t *payload, size_t bytes)
{
	uint8_t record[BP_PAYLOAD_BYTES];
	struct bp_bytes_out out = bp_bytes_out_of(record, sizeof record);
	bp_bytes_put_u8(&out, (uint8_t)tag);
	bp_bytes_put_varint(&out, bytes);
	bp_bytes_put(&out, payload, bytes);
	if (out.failed)
		output->failed = true;
	else
		bp_fold_put_raw(output, record, (size_t)(out.at - record));
}

static void put_delta(struct bp_bytes_out *out, uint64_t *state, uint64_t value)
{
	bp_bytes_put_zigzag(out, (int64_t)(value - *state));
	*state = value;
}

/* The thread, if it is another one than the last record's; its flag is 1 in both kinds. */
static uint8_t thread_flag(struct bp_fold_output *output, uint32_t thread)
{
	if (output->thread == thread)
		return 0;
	output->thread = thread;
	output->trials = output->objects = 0;
	return BP_SAMPLE_THREAD;
}

static void put_context(struct bp_fold_output *output, struct bp_bytes_out *out, uint8_t flags,
	uint64_t sequence, uint64_t time_ns)
{
	if (flags & BP_SAMPLE_THREAD)
		bp_bytes_put_varint(out, output->thread);
	put_delta(out, &output->sequence, sequence);
	put_delta(out, &output->time_ns, time_ns);
}

static void put_counters(
	struct bp_fold_output *output, struct bp_bytes_out *out, uint64_t trials, uint64_t objects)
{
	bp_bytes_put_varint(out, trials - output->trials);
	bp_bytes_put_varint(out, objects - output->objects);
	output->trials = trials;
	output->objects = objects;
}

void bp_fold_put_sample(struct bp_fold_output *output, const struct bp_trace_sample *sample)
{
	uint8_t payload[RECORD_MAX_BYTES];
	struct bp_bytes_out out = bp_bytes_out_of(payload, sizeof payload);
	uint8_t flags =
		sample->flags & (BP_SAMPLE_EXACT | BP_SAMPLE_ALIGNMENT | BP_SAMPLE_USABLE |
					BP_SAMPLE_LABELS | BP_SAMPLE_TOLD | BP_SAMPLE_PROCESSOR);
	if (!make_room(output, RECORD_MAX_BYTES, sample))
		return;
	flags |= thread_flag(output, sample->thread);
	if (sample->interval != output->interval || sample->law != output->law)
		flags |= BP_SAMPLE_INTERVAL;
	bp_bytes_put_u8(&out, flags);
	bp_bytes_put_u8(&out, sample->kind);
	put_context(output, &out, flags, sample->sequence, sample->time_ns);
	put_delta(&out, &output->address, sample->address);
	bp_bytes_put_varint(&out, sample->size);
	if (flags & BP_SAMPLE_ALIGNMENT)
		bp_bytes_put_varint(&out, sample->alignment_log2);
	if (flags & BP_SAMPLE_USABLE)
		bp_bytes_put_varint(&out, sample->usable - sample->size);
	if (!(flags & BP_SAMPLE_EXACT))
		bp_bytes_put_varint(&out, sample->offset);
	bp_bytes_put_varint(&out, sample->stack);
	put_counters(output, &out, sample->trials, sample->objects);
	if (flags & BP_SAMPLE_INTERVAL) {
		bp_bytes_put_varint(&out, sample->interval);
		bp_bytes_put_varint(&out, sample->law);
	}
	if (flags & BP_SAMPLE_LABELS)
		bp_bytes_put_varint(&out, sample->labels);
	if (flags & BP_SAMPLE_TOLD) {
		bp_bytes_put_varint(&out, sample->type);
		bp_bytes_put_varint(&out, sample->heap);
	}
	if (flags & BP_SAMPLE_PROCESSOR)
		bp_bytes_put_varint(&out, sample->processor - 1);
	output->failed |= out.failed;
	bp_fold_put_record(output, BP_TAG_SAMPLE, payload, (size_t)(out.at - payload));
}

void bp_fold_put_free(struct bp_fold_output *output, const struct bp_trace_free *record)
{
	uint8_t payload[RECORD_MAX_BYTES];
	struct bp_bytes_out out = bp_bytes_out_of(payload, sizeof payload);
	const struct bp_trace_sample first = { .time_ns = record->time_ns,
		.sequence = record->sequence,
		.interval = output->interval,
		.law = output->law };
	uint8_t flags = record->flags & (BP_FREE_STACK | BP_FREE_REALLOC | BP_FREE_PROCESSOR);
	if (!make_room(output, RECORD_MAX_BYTES, &first))
		return;
	flags |= thread_flag(output, record->thread);
	bp_bytes_put_u8(&out, flags);
	put_context(output, &out, flags, record->sequence, record->time_ns);
	bp_bytes_put_varint(&out, record->sequence - record->sample_sequence);
	put_counters(output, &out, record->trials, record->objects);
	if (flags & BP_FREE_STACK)
		bp_bytes_put_varint(&out, record->stack);
	if (flags & BP_FREE_PROCESSOR)
		bp_bytes_put_varint(&out, record->processor - 1);
	output->failed |= out.failed;
	bp_fold_put_record(output, BP_TAG_FREE, payload, (size_t)(out.at - payload));
}
