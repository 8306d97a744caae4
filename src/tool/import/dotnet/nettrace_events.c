/* SPDX-License-Identifier: MIT */
/*
 * Event blocks of a .nettrace file. Heads come compressed (a byte of flags says which fields
 * changed since the event before; the state begins at zero in each block) or plain (never seen in
 * the wild).
 */
#include "import/dotnet/nettrace_blocks.h"

#define BLOCK_COMPRESSED 1u

enum head_flag {
	HEAD_METADATA = 1,
	HEAD_CAPTURE = 2,
	HEAD_THREAD = 4,
	HEAD_STACK = 8,
	HEAD_ACTIVITY = 16,
	HEAD_RELATED = 32,
	HEAD_PAYLOAD = 128
};
#define ACTIVITY_BYTES 16u

/* `labels`: version 6 has a varint where others have an activity's 16 bytes. */
static void read_compressed(
	struct bp_nettrace_event_head *head, struct bp_bytes *bytes, bool labels)
{
	const uint8_t flags = bp_bytes_u8(bytes);
	if (flags & HEAD_METADATA)
		head->metadata = bp_bytes_varint(bytes);
	if (flags & HEAD_CAPTURE) {
		head->sequence += (uint32_t)bp_bytes_varint(bytes) + 1;
		head->capture_thread = bp_bytes_varint(bytes);
		(void)bp_bytes_varint(bytes); /* processor */
	} else if (head->metadata != 0) {
		head->sequence++;
	}
	if (flags & HEAD_THREAD)
		head->thread = bp_bytes_varint(bytes);
	if (flags & HEAD_STACK)
		head->stack = (uint32_t)bp_bytes_varint(bytes);
	head->time += bp_bytes_varint(bytes);
	if (flags & HEAD_ACTIVITY) {
		if (labels)
			(void)bp_bytes_varint(bytes);
		else
			(void)bp_bytes_take(bytes, ACTIVITY_BYTES);
	}
	if (flags & HEAD_RELATED)
		(void)bp_bytes_take(bytes, ACTIVITY_BYTES);
	if (flags & HEAD_PAYLOAD)
		head->payload_bytes = (uint32_t)bp_bytes_varint(bytes);
}

static void read_plain(struct bp_nettrace_event_head *head, struct bp_bytes *bytes)
{
	(void)bp_bytes_u32(bytes);				     /* size */
	head->metadata = bp_bytes_u32(bytes) & ~((uint32_t)1 << 31); /* high bit: not sorted */
	head->sequence = bp_bytes_u32(bytes);
	head->thread = bp_bytes_u64(bytes);
	head->capture_thread = bp_bytes_u64(bytes);
	(void)bp_bytes_u32(bytes); /* processor */
	head->stack = bp_bytes_u32(bytes);
	head->time = bp_bytes_u64(bytes);
	(void)bp_bytes_take(bytes, (uint64_t)2 * ACTIVITY_BYTES);
	head->payload_bytes = bp_bytes_u32(bytes);
}

static bool read_event(struct bp_nettrace_event_head *head, struct bp_bytes *bytes, bool compressed,
	bool labels, const uint8_t *block, struct bp_bytes *ret_payload)
{
	if (compressed)
		read_compressed(head, bytes, labels);
	else
		read_plain(head, bytes);
	const uint8_t *payload = bp_bytes_take(bytes, head->payload_bytes);
	if (payload == NULL)
		return false;
	*ret_payload = bp_bytes_of(payload, head->payload_bytes);
	if (!compressed) { /* padded to four bytes; the last one of a block may not be */
		size_t past = (size_t)(bytes->at - block) % 4, left = bp_bytes_left(bytes);
		if (past != 0)
			(void)bp_bytes_take(bytes, left < 4 - past ? left : 4 - past);
	}
	return true;
}

bool bp_nettrace_event_head(struct bp_nettrace_event_head *head, struct bp_bytes *bytes,
	bool compressed, const uint8_t *block, struct bp_bytes *ret_payload)
{
	return read_event(head, bytes, compressed, false, block, ret_payload);
}

static struct bp_nettrace_kind *kind_of(struct bp_nettrace_reader *reader, uint64_t id)
{
	if (reader->kind_count == 0)
		return NULL;
	const struct bp_index_keys keys = { &reader->kinds->id, sizeof *reader->kinds };
	uint32_t found = bp_index_find(&reader->kinds_by_id, keys, id);
	return found == BP_INDEX_NONE ? NULL : &reader->kinds[found];
}

static bool deliver(struct bp_nettrace_reader *reader, const struct bp_nettrace_event_head *head,
	struct bp_bytes payload, const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	struct bp_nettrace_kind *kind = kind_of(reader, head->metadata);
	uint64_t tid = head->thread;
	if (!bp_nettrace_captured(reader, head->capture_thread, head->sequence))
		return bp_error_set(error, "out of memory while reading a .nettrace file");
	if (reader->version >= 6) {
		const struct bp_nettrace_thread *thread = bp_nettrace_thread_of(reader, tid);
		if (thread == NULL)
			return bp_error_set(error, "out of memory while reading a .nettrace file");
		tid = thread->tid;
	}
	if (kind == NULL)
		reader->bad_events++;
	else
		kind->count++;
	reader->events++;
	return handler->on_event(handler->context, &(struct bp_nettrace_event){ .kind = kind,
							   .thread = tid,
							   .stack = head->stack,
							   .time = head->time,
							   .payload = payload });
}

bool bp_nettrace_events(struct bp_nettrace_reader *reader, struct bp_bytes bytes, bool cut,
	const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	const uint8_t *block = bytes.at;
	const uint16_t header_bytes = bp_bytes_u16(&bytes);
	const uint16_t flags = bp_bytes_u16(&bytes);
	if (header_bytes < 4 || bp_bytes_take(&bytes, header_bytes - 4u) == NULL) {
		reader->bad_blocks += !cut;
		return true;
	}
	struct bp_nettrace_event_head head = { 0 };
	while (bp_bytes_left(&bytes) != 0) {
		struct bp_bytes payload;
		if (!read_event(&head, &bytes, (flags & BLOCK_COMPRESSED) != 0,
			    reader->version >= 6, block, &payload)) {
			reader->bad_blocks += !cut;
			break;
		}
		reader->events_in_cut_block += cut;
		if (!deliver(reader, &head, payload, handler, error))
			return false;
	}
	return true;
}
