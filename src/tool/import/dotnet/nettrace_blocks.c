/* SPDX-License-Identifier: MIT */
/*
 * The other blocks of a .nettrace file: its head, descriptions of events, stacks, sequence points,
 * and the threads of version 6.
 */
#include "import/dotnet/nettrace_blocks.h"

#include <string.h>

#include "base/vec.h"
#include "import/dotnet/dotnet_text.h"

#define BLOCK_COMPRESSED 1u
#define POINT_FLUSHES_THREADS 1u
#define POINT_FLUSHES_METADATA 2u

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory while reading a .nettrace file");
}

/* The block is not what its kind promises; the rest of it is left out. */
static bool damaged(struct bp_nettrace_reader *reader)
{
	reader->bad_blocks++;
	return true;
}

/* A string of version 6: length and UTF-8. */
static void read_string_6(struct bp_bytes *bytes, char *to, size_t capacity)
{
	const uint64_t length = bp_bytes_varint(bytes);
	const uint8_t *text = bp_bytes_take(bytes, length);
	size_t keep = text == NULL ? 0 : length < capacity - 1 ? (size_t)length : capacity - 1;
	if (keep != 0)
		memcpy(to, text, keep);
	to[keep] = '\0';
}

/* The keys and values at the end of version 6's head. */
static void read_head_values(struct bp_nettrace_reader *reader, struct bp_bytes *bytes)
{
	const uint32_t count = bp_bytes_u32(bytes);
	for (uint32_t i = 0; i < count && !bytes->failed; i++) {
		char key[64], value[64];
		uint64_t number = 0;
		read_string_6(bytes, key, sizeof key);
		read_string_6(bytes, value, sizeof value);
		for (const char *c = value; *c >= '0' && *c <= '9'; c++)
			number = number * 10 + (uint64_t)(*c - '0');
		if (strcmp(key, "ProcessId") == 0)
			reader->process_id = number;
		else if (strcmp(key, "HardwareThreadCount") == 0)
			reader->processors = (uint32_t)number;
	}
}

bool bp_nettrace_head(struct bp_nettrace_reader *reader, struct bp_bytes bytes)
{
	for (size_t i = 0; i < 8; i++)
		reader->start_utc[i] = bp_bytes_u16(&bytes);
	reader->start_ticks = bp_bytes_u64(&bytes);
	reader->ticks_per_second = bp_bytes_u64(&bytes);
	reader->pointer_bytes = bp_bytes_u32(&bytes);
	if (reader->version >= 6) {
		read_head_values(reader, &bytes);
	} else {
		reader->process_id = bp_bytes_u32(&bytes);
		reader->processors = bp_bytes_u32(&bytes);
		(void)bp_bytes_u32(&bytes); /* interval of CPU samples */
	}
	return !bytes.failed && reader->ticks_per_second != 0 &&
	       (reader->pointer_bytes == 4 || reader->pointer_bytes == 8);
}

/* A second description of an id replaces the first. */
static bool add_kind(struct bp_nettrace_reader *reader, const struct bp_nettrace_kind *kind)
{
	struct bp_index_keys keys;
	if (!bp_vec_reserve(&reader->kinds, &reader->kind_capacity,
		    (uint64_t)reader->kind_count + 1, sizeof *reader->kinds))
		return false;
	keys = (struct bp_index_keys){ &reader->kinds->id, sizeof *reader->kinds };
	uint32_t found = bp_index_find(&reader->kinds_by_id, keys, kind->id);
	if (found != BP_INDEX_NONE) {
		const uint64_t count = reader->kinds[found].count;
		const bool same = strcmp(reader->kinds[found].provider, kind->provider) == 0 &&
				  reader->kinds[found].event == kind->event &&
				  reader->kinds[found].version == kind->version;
		reader->kinds[found] = *kind;
		reader->kinds[found].count = same ? count : 0;
		return true;
	}
	reader->kinds[reader->kind_count] = *kind;
	if (!bp_index_add(&reader->kinds_by_id, keys, reader->kind_count))
		return false;
	reader->kind_count++;
	return true;
}

bool bp_nettrace_metadata_4(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error)
{
	const uint8_t *block = bytes.at;
	const uint16_t header_bytes = bp_bytes_u16(&bytes);
	const uint16_t flags = bp_bytes_u16(&bytes);
	struct bp_nettrace_event_head head = { 0 };
	if (header_bytes < 4 || bp_bytes_take(&bytes, header_bytes - 4u) == NULL)
		return damaged(reader);
	while (bp_bytes_left(&bytes) != 0) {
		struct bp_bytes payload;
		struct bp_nettrace_kind kind = { 0 };
		if (!bp_nettrace_event_head(
			    &head, &bytes, (flags & BLOCK_COMPRESSED) != 0, block, &payload))
			return damaged(reader);
		kind.id = bp_bytes_u32(&payload);
		bp_dotnet_text(&payload, kind.provider, sizeof kind.provider);
		kind.event = bp_bytes_u32(&payload);
		bp_dotnet_text(&payload, NULL, 0);
		(void)bp_bytes_u64(&payload); /* keywords */
		kind.version = bp_bytes_u32(&payload);
		if (payload.failed)
			reader->bad_events++;
		else if (!add_kind(reader, &kind))
			return no_memory(error);
	}
	return true;
}

#define OPTION_VERSION 9

/* The version stands among the options, each of a length that its kind tells; behind a kind that is
 * not known nothing can be read. */
static uint32_t version_of_options(struct bp_bytes bytes)
{
	while (bp_bytes_left(&bytes) != 0) {
		char text[8];
		switch (bp_bytes_u8(&bytes)) {
		case 1: /* opcode */
		case 8: /* level */
			(void)bp_bytes_u8(&bytes);
			break;
		case 3: /* keywords */
			(void)bp_bytes_u64(&bytes);
			break;
		case 4:
		case 5:
			read_string_6(&bytes, text, sizeof text);
			break;
		case 6:
			read_string_6(&bytes, text, sizeof text);
			read_string_6(&bytes, text, sizeof text);
			break;
		case 7: /* provider's GUID */
			(void)bp_bytes_take(&bytes, 16);
			break;
		case OPTION_VERSION:
			return bp_bytes_u8(&bytes);
		default:
			return 0;
		}
	}
	return 0;
}

bool bp_nettrace_metadata_6(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error)
{
	if (bp_bytes_take(&bytes, bp_bytes_u16(&bytes)) == NULL)
		return damaged(reader);
	while (bp_bytes_left(&bytes) != 0) {
		struct bp_nettrace_kind kind = { 0 };
		char name[8];
		const uint16_t length = bp_bytes_u16(&bytes);
		const uint8_t *row = bp_bytes_take(&bytes, length);
		if (row == NULL)
			return damaged(reader);
		struct bp_bytes fields = bp_bytes_of(row, length);
		kind.id = bp_bytes_varint(&fields);
		read_string_6(&fields, kind.provider, sizeof kind.provider);
		kind.event = (uint32_t)bp_bytes_varint(&fields);
		read_string_6(&fields, name, sizeof name);
		for (uint16_t n = bp_bytes_u16(&fields); n != 0 && !fields.failed; n--)
			(void)bp_bytes_take(&fields, bp_bytes_u16(&fields));
		const uint16_t options = bp_bytes_u16(&fields);
		const uint8_t *at = bp_bytes_take(&fields, options);
		/* A GUID may stand behind the name. */
		char *brace = strstr(kind.provider, ":{");
		if (brace != NULL)
			*brace = '\0';
		if (at == NULL) {
			reader->bad_events++;
			continue;
		}
		kind.version = version_of_options(bp_bytes_of(at, options));
		if (!add_kind(reader, &kind))
			return no_memory(error);
	}
	return true;
}

bool bp_nettrace_stacks(struct bp_nettrace_reader *reader, struct bp_bytes bytes,
	const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	const uint32_t first = bp_bytes_u32(&bytes), count = bp_bytes_u32(&bytes);
	(void)error;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t length = bp_bytes_u32(&bytes);
		const uint8_t *pcs = bp_bytes_take(&bytes, length);
		if (pcs == NULL)
			return damaged(reader);
		if (!handler->on_stack(
			    handler->context, first + i, pcs, length / reader->pointer_bytes))
			return false;
	}
	return true;
}

static void forget_kinds(struct bp_nettrace_reader *reader)
{
	/* Their counts stay: only the ids are used again. Ids of the file have 32 bits. */
	for (uint32_t i = 0; i < reader->kind_count; i++)
		reader->kinds[i].id |= (uint64_t)(i + 1) << 32;
	bp_index_finish(&reader->kinds_by_id);
}

bool bp_nettrace_sequence_point(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error)
{
	(void)bp_bytes_u64(&bytes); /* time */
	const uint32_t flags = reader->version >= 6 ? bp_bytes_u32(&bytes) : 0;
	const uint32_t count = bp_bytes_u32(&bytes);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t thread =
			reader->version >= 6 ? bp_bytes_varint(&bytes) : bp_bytes_u64(&bytes);
		const uint32_t sequence = reader->version >= 6 ? (uint32_t)bp_bytes_varint(&bytes)
							       : bp_bytes_u32(&bytes);
		if (bytes.failed)
			return damaged(reader);
		if (!bp_nettrace_reached(reader, thread, sequence))
			return no_memory(error);
	}
	if (flags & POINT_FLUSHES_METADATA)
		forget_kinds(reader);
	if (flags & POINT_FLUSHES_THREADS)
		for (uint32_t i = 0; i < reader->thread_count; i++)
			reader->threads[i].sequence = 0;
	return true;
}

#define THREAD_TID 3

bool bp_nettrace_thread_rows(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error)
{
	while (bp_bytes_left(&bytes) != 0) {
		const uint16_t length = bp_bytes_u16(&bytes);
		const uint8_t *row = bp_bytes_take(&bytes, length);
		char text[8];
		if (row == NULL)
			return damaged(reader);
		struct bp_bytes fields = bp_bytes_of(row, length);
		const uint64_t key = bp_bytes_varint(&fields);
		struct bp_nettrace_thread *thread = bp_nettrace_thread_of(reader, key);
		if (thread == NULL)
			return no_memory(error);
		while (bp_bytes_left(&fields) != 0) {
			const uint8_t kind = bp_bytes_u8(&fields);
			if (kind == 1) {
				read_string_6(&fields, text, sizeof text);
			} else if (kind == 2) {
				(void)bp_bytes_varint(&fields);
			} else if (kind == THREAD_TID) {
				thread->tid = bp_bytes_varint(&fields);
			} else if (kind == 4) {
				read_string_6(&fields, text, sizeof text);
				read_string_6(&fields, text, sizeof text);
			} else {
				break;
			}
		}
	}
	return true;
}

bool bp_nettrace_removed_threads(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error)
{
	while (bp_bytes_left(&bytes) != 0) {
		const uint64_t key = bp_bytes_varint(&bytes);
		const uint32_t sequence = (uint32_t)bp_bytes_varint(&bytes);
		if (bytes.failed)
			return damaged(reader);
		if (!bp_nettrace_reached(reader, key, sequence))
			return no_memory(error);
		bp_nettrace_thread_of(reader, key)->sequence = 0;
	}
	return true;
}
