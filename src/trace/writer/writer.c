/* SPDX-License-Identifier: MIT */
/*
 * Records into chunks (docs/trace-format.md section 3). Each record is encoded in place behind what
 * is committed, then `committed` moves over it in one store: a reader, or the reader of a file
 * whose writer was killed, sees it whole or not at all.
 */
#include "trace/writer/writer.h"

#include "base/attributes.h"
#include "base/varint.h"
#include "trace/writer/writer_file.h"

/* Longest payloads: fifteen numbers; a sample; a stack, without its frames; names. Room for frames
 * and texts is asked for by their length: a page that is not needed is not made present. */
#define PLAIN_NUMBERS 15
#define SAMPLE_BYTES (2 + 17 * BP_VARINT_MAX_BYTES)
#define STACK_BYTES (4 * BP_VARINT_MAX_BYTES)
#define NAMED_STACK_BYTES ((3 + BP_NAMED_STACK_MAX_DEPTH) * BP_VARINT_MAX_BYTES)
#define MIXED_STACK_BYTES (4 * BP_VARINT_MAX_BYTES)
#define MIXED_FRAME_BYTES (5 + 2) /* 33 bits; a position, of which there are fewer than 2^14 */
#define NAMES_BYTES (2 * (BP_VARINT_MAX_BYTES + BP_NAME_MAX_BYTES))
#define TEXT_BYTES 4000
/* Tag and a length of two bytes, which payloads may not exceed. */
#define PREFIX_BYTES 3
#define STACK_FRAMES_MAX ((0x3fffu - STACK_BYTES) / BP_VARINT_MAX_BYTES)

/* A record being written: the lane it goes to (locked) and where its payload begins. */
struct place {
	struct bp_lane *lane;
	uint8_t *record, *payload;
};

/* The first lane that is free, from the first one on: as many chunks are open as threads write at
 * the same moment, and a program of one thread fills one. */
static struct bp_lane *take_lane(struct bp_writer *writer)
{
	for (uint32_t i = 0; i < BP_LANES; i++)
		if (bp_lock_try(&writer->lanes[i].lock))
			return &writer->lanes[i];
	/* More writers than lanes: they wait for different ones. */
	static uint32_t waiters;
	struct bp_lane *lane =
		&writer->lanes[__atomic_fetch_add(&waiters, 1, __ATOMIC_RELAXED) % BP_LANES];
	bp_lock_take(&lane->lock);
	return lane;
}

static bool begin_chunk(struct bp_writer *writer, struct bp_lane *lane, uint64_t time_ns,
	uint64_t sequence, uint64_t interval_bytes)
{
	if (!bp_writer_new_chunk(writer, lane))
		return false;
	struct bp_chunk_header *chunk = lane->chunk;
	chunk->base_time_ns = lane->time_ns = time_ns;
	chunk->base_sequence = lane->sequence = sequence;
	const struct bp_trace_header *header = (struct bp_trace_header *)writer->head;
	chunk->interval_bytes = interval_bytes == 0 ? header->interval_bytes : interval_bytes;
	chunk->law = header->law;
	chunk->lane = (uint32_t)(lane - writer->lanes);
	lane->thread = 0;
	lane->address = lane->trials = lane->objects = 0;
	__atomic_store_n(&chunk->magic, BP_CHUNK_MAGIC, __ATOMIC_RELEASE);
	return true;
}

/* Room for a payload of `bytes` in some lane, which is locked then. interval_bytes 0: the
 * file's. */
static bool begin(struct bp_writer *writer, uint64_t time_ns, uint64_t sequence,
	uint64_t interval_bytes, uint32_t bytes, struct place *ret_place)
{
	if (bp_unlikely(time_ns != 0 && bp_writer_outage_since(writer) != 0))
		bp_writer_try_again(writer, time_ns);
	if (writer->head == NULL || __atomic_load_n(&writer->stopped, __ATOMIC_RELAXED))
		return false;
	struct bp_lane *lane = take_lane(writer);
	const uint32_t need = bytes + PREFIX_BYTES;
	/* (In an outage what room is left in chunks of the file is not used: so whatever a reader
	 * finds of a thread there is from before it stopped sampling.) */
	bool fresh = lane->chunk == NULL || lane->chunk->committed + need > BP_PAYLOAD_BYTES ||
		     bp_unlikely(lane->mapping != NULL && bp_writer_outage_since(writer) != 0);
	for (;;) {
		if (fresh && !begin_chunk(writer, lane, time_ns, sequence, interval_bytes)) {
			bp_lock_release(&lane->lock);
			return false;
		}
		const uint32_t at = (uint32_t)sizeof *lane->chunk + lane->chunk->committed;
		if (bp_likely(bp_writer_make_ready(writer, lane, at + need))) {
			ret_place->lane = lane;
			ret_place->record = (uint8_t *)lane->chunk + at;
			ret_place->payload = ret_place->record + PREFIX_BYTES;
			return true;
		}
		/* An outage began: the next chunk is one in memory, which is ready. */
		fresh = true;
	}
}

static void commit(struct place *place, enum bp_tag tag, const uint8_t *end)
{
	uint32_t length = (uint32_t)(end - place->payload);
	place->record[0] = (uint8_t)tag;
	if (length < 0x80) {
		place->record[1] = (uint8_t)length;
		__builtin_memmove(place->record + 2, place->payload, length);
		end--;
	} else {
		place->record[1] = (uint8_t)(length | 0x80);
		place->record[2] = (uint8_t)(length >> 7);
	}
	struct bp_chunk_header *chunk = place->lane->chunk;
	uint32_t committed = (uint32_t)(end - (uint8_t *)(chunk + 1));
	__atomic_store_n(&chunk->committed, committed, __ATOMIC_RELEASE);
	bp_lock_release(&place->lane->lock);
}

static uint8_t *put_delta(uint8_t *at, uint64_t *state, uint64_t value)
{
	at = bp_varint_put(at, bp_zigzag((int64_t)(value - *state)));
	*state = value;
	return at;
}

/* Thread (if it is another one than the lane's last), sequence and time. */
static uint8_t *put_context(uint8_t *at, struct bp_lane *lane, uint8_t *flags, uint32_t thread,
	uint64_t sequence, uint64_t time_ns)
{
	if (lane->thread != thread) {
		*flags |= BP_SAMPLE_THREAD;
		at = bp_varint_put(at, thread);
		lane->thread = thread;
		lane->trials = lane->objects = 0;
	}
	at = put_delta(at, &lane->sequence, sequence);
	return put_delta(at, &lane->time_ns, time_ns);
}

static uint8_t *put_counters(uint8_t *at, struct bp_lane *lane, uint64_t trials, uint64_t objects)
{
	at = bp_varint_put(at, trials - lane->trials);
	lane->trials = trials;
	at = bp_varint_put(at, objects - lane->objects);
	lane->objects = objects;
	return at;
}

_Static_assert((int)BP_SAMPLE_THREAD == (int)BP_FREE_THREAD, "put_context serves both");

bool bp_writer_sample(struct bp_writer *writer, const struct bp_record_sample *record)
{
	struct place place;
	if (!begin(writer, record->time_ns, record->sequence, record->interval_bytes, SAMPLE_BYTES,
		    &place)) {
		bp_writer_lost(writer, BP_LOSS_TRACE_FULL);
		return false;
	}
	struct bp_lane *lane = place.lane;
	uint8_t *at = place.payload;
	uint8_t *flags = at;
	*at++ = 0;
	*at++ = record->kind;
	at = put_context(at, lane, flags, record->thread, record->sequence, record->time_ns);
	at = put_delta(at, &lane->address, record->address);
	at = bp_varint_put(at, record->size);
	if (record->alignment_log2 != 0) {
		*flags |= BP_SAMPLE_ALIGNMENT;
		*at++ = record->alignment_log2;
	}
	if (record->usable_known && record->usable >= record->size) {
		*flags |= BP_SAMPLE_USABLE;
		at = bp_varint_put(at, record->usable - record->size);
	}
	if (record->exact)
		*flags |= BP_SAMPLE_EXACT;
	else
		at = bp_varint_put(at, record->offset);
	at = bp_varint_put(at, record->stack);
	at = put_counters(at, lane, record->trials, record->objects);
	if (record->interval_bytes != lane->chunk->interval_bytes ||
		record->law != lane->chunk->law) {
		*flags |= BP_SAMPLE_INTERVAL;
		at = bp_varint_put(at, record->interval_bytes);
		at = bp_varint_put(at, record->law);
	}
	if (record->labels != 0) {
		*flags |= BP_SAMPLE_LABELS;
		at = bp_varint_put(at, record->labels);
	}
	if (record->told) {
		*flags |= BP_SAMPLE_TOLD;
		at = bp_varint_put(at, record->type);
		at = bp_varint_put(at, record->heap);
	}
	if (record->processor != 0) {
		*flags |= BP_SAMPLE_PROCESSOR;
		at = bp_varint_put(at, record->processor - 1);
	}
	const bool held = lane->mapping == NULL;
	if (bp_unlikely(held))
		bp_writer_count_held(writer, lane, BP_TAG_SAMPLE);
	commit(&place, BP_TAG_SAMPLE, at);
	if (bp_likely(!held))
		__atomic_fetch_add(&bp_writer_state(writer)->samples, 1, __ATOMIC_RELAXED);
	return true;
}

bool bp_writer_free(struct bp_writer *writer, const struct bp_record_free *record)
{
	struct place place;
	if (!begin(writer, record->time_ns, record->sequence, 0, SAMPLE_BYTES, &place)) {
		bp_writer_lost(writer, BP_LOSS_FREE);
		return false;
	}
	uint8_t *at = place.payload;
	uint8_t *flags = at;
	*at++ = record->by_realloc ? BP_FREE_REALLOC : 0;
	at = put_context(at, place.lane, flags, record->thread, record->sequence, record->time_ns);
	at = bp_varint_put(at, record->sequence - record->sample_sequence);
	at = put_counters(at, place.lane, record->trials, record->objects);
	if (record->stack != 0) {
		*flags |= BP_FREE_STACK;
		at = bp_varint_put(at, record->stack);
	}
	if (record->processor != 0) {
		*flags |= BP_FREE_PROCESSOR;
		at = bp_varint_put(at, record->processor - 1);
	}
	if (bp_unlikely(place.lane->mapping == NULL))
		bp_writer_count_held(writer, place.lane, BP_TAG_FREE);
	commit(&place, BP_TAG_FREE, at);
	return true;
}

bool bp_writer_stack(struct bp_writer *writer, uint32_t id, uint32_t flags, uint64_t epoch,
	uint32_t depth, const uint64_t *pcs, const uint8_t *exact_mask)
{
	struct place place;
	if (depth > STACK_FRAMES_MAX ||
		!begin(writer, 0, 0, 0, STACK_BYTES + depth * BP_VARINT_MAX_BYTES, &place))
		return false;
	uint8_t *at = place.payload;
	at = bp_varint_put(at, id);
	at = bp_varint_put(at, flags);
	at = bp_varint_put(at, epoch);
	at = bp_varint_put(at, depth);
	uint64_t previous = 0;
	for (uint32_t i = 0; i < depth; i++) {
		uint64_t exact = (exact_mask[i / 8] >> (i % 8)) & 1;
		at = bp_varint_put(at, bp_zigzag((int64_t)(pcs[i] - previous)) << 1 | exact);
		previous = pcs[i];
	}
	commit(&place, BP_TAG_STACK, at);
	return true;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t length)
{
	at = bp_varint_put(at, length);
	__builtin_memcpy(at, bytes, length);
	return at + length;
}

static size_t text_length(const char *text)
{
	size_t length = __builtin_strlen(text);
	return length < TEXT_BYTES ? length : TEXT_BYTES;
}

bool bp_writer_module(struct bp_writer *writer, const struct bp_record_module *record)
{
	const size_t length = text_length(record->path);
	struct place place;
	if (!begin(writer, 0, 0, 0, SAMPLE_BYTES + 64 + (uint32_t)length, &place))
		return false;
	size_t build_id_bytes = record->build_id_bytes < 64 ? record->build_id_bytes : 64;
	uint8_t *at = place.payload;
	at = bp_varint_put(at, record->id);
	at = bp_varint_put(at, record->epoch);
	at = bp_varint_put(at, record->start);
	at = bp_varint_put(at, record->end);
	at = bp_varint_put(at, record->bias);
	at = bp_varint_put(at, record->file_bytes);
	at = bp_varint_put(at, record->file_mtime_ns);
	at = put_bytes(at, record->build_id, build_id_bytes);
	at = put_bytes(at, record->path, length);
	commit(&place, BP_TAG_MODULE, at);
	return true;
}

bool bp_writer_plain(struct bp_writer *writer, enum bp_tag tag, const uint64_t *values,
	size_t count, const char *text)
{
	const size_t length = text == NULL ? 0 : text_length(text);
	struct place place;
	if (count > PLAIN_NUMBERS ||
		!begin(writer, 0, 0, 0, SAMPLE_BYTES + (uint32_t)length, &place))
		return false;
	uint8_t *at = place.payload;
	for (size_t i = 0; i < count; i++)
		at = bp_varint_put(at, values[i]);
	if (text != NULL)
		at = put_bytes(at, text, length);
	commit(&place, tag, at);
	return true;
}

bool bp_writer_names(struct bp_writer *writer, enum bp_tag tag, const uint64_t *values,
	size_t count, const struct bp_record_text *texts, size_t text_count)
{
	struct place place;
	if (count > PLAIN_NUMBERS || text_count > 2 ||
		!begin(writer, 0, 0, 0, SAMPLE_BYTES + NAMES_BYTES, &place))
		return false;
	uint8_t *at = place.payload;
	for (size_t i = 0; i < count; i++)
		at = bp_varint_put(at, values[i]);
	for (size_t i = 0; i < text_count; i++)
		at = put_bytes(at, texts[i].data,
			texts[i].bytes < BP_NAME_MAX_BYTES ? texts[i].bytes : BP_NAME_MAX_BYTES);
	commit(&place, tag, at);
	return true;
}

bool bp_writer_named_stack(struct bp_writer *writer, uint32_t id, uint32_t flags, uint32_t depth,
	const uint32_t *frames)
{
	struct place place;
	if (depth > BP_NAMED_STACK_MAX_DEPTH || !begin(writer, 0, 0, 0, NAMED_STACK_BYTES, &place))
		return false;
	uint8_t *at = place.payload;
	at = bp_varint_put(at, id);
	at = bp_varint_put(at, flags);
	at = bp_varint_put(at, depth);
	for (uint32_t i = 0; i < depth; i++)
		at = bp_varint_put(
			at, bp_zigzag((int64_t)frames[i] - (i == 0 ? 0 : (int64_t)frames[i - 1])));
	commit(&place, BP_TAG_NAMED_STACK, at);
	return true;
}

bool bp_writer_mixed_stack(struct bp_writer *writer, uint32_t id, uint32_t native, uint32_t flags,
	uint32_t depth, const uint32_t *frames, const uint32_t *positions)
{
	struct place place;
	if (depth > BP_NAMED_STACK_MAX_DEPTH ||
		!begin(writer, 0, 0, 0, MIXED_STACK_BYTES + depth * MIXED_FRAME_BYTES, &place))
		return false;
	uint8_t *at = place.payload;
	at = bp_varint_put(at, id);
	at = bp_varint_put(at, native);
	at = bp_varint_put(at, flags);
	at = bp_varint_put(at, depth);
	int64_t frame = 0, position = 0;
	for (uint32_t i = 0; i < depth; i++) {
		at = bp_varint_put(at, bp_zigzag((int64_t)frames[i] - frame));
		at = bp_varint_put(at, (uint64_t)((int64_t)positions[i] - position));
		frame = frames[i];
		position = positions[i];
	}
	commit(&place, BP_TAG_MIXED_STACK, at);
	return true;
}

void bp_writer_lock_all(struct bp_writer *writer)
{
	for (int i = 0; i < BP_LANES; i++)
		bp_lock_take(&writer->lanes[i].lock);
	bp_lock_take(&writer->grow_lock);
}

void bp_writer_unlock_all(struct bp_writer *writer)
{
	bp_lock_release(&writer->grow_lock);
	for (int i = BP_LANES - 1; i >= 0; i--)
		bp_lock_release(&writer->lanes[i].lock);
}
