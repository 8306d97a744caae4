/* SPDX-License-Identifier: MIT */
/* See nettrace_reader.h. Here: the file, its framing, and which block is given to whom. */
#include "import/dotnet/nettrace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/dotnet/nettrace_blocks.h"

#define MAGIC "Nettrace"
#define MAGIC_BYTES 8u
#define SERIALIZER "!FastSerialization.1"
#define SERIALIZER_BYTES 20u
#define FIRST_OBJECT (MAGIC_BYTES + 4u + SERIALIZER_BYTES)
#define HEAD_6_BYTES 20u
#define TRACE_BYTES_4 48u

/* Tags of the serialiser. */
enum tag { TAG_NULL = 1, TAG_BEGIN = 5, TAG_END = 6 };

/* Kinds of blocks in version 6. */
enum block_6 {
	BLOCK_END,
	BLOCK_TRACE,
	BLOCK_EVENT,
	BLOCK_METADATA,
	BLOCK_SEQUENCE_POINT,
	BLOCK_STACK,
	BLOCK_THREAD,
	BLOCK_REMOVE_THREAD,
	BLOCK_COUNT
};

bool bp_nettrace_sniff(const uint8_t *head, size_t bytes)
{
	return bytes >= MAGIC_BYTES && memcmp(head, MAGIC, MAGIC_BYTES) == 0;
}

/* Up to `bytes` bytes at `offset`; fewer at the end of the file. */
static size_t read_at(
	const struct bp_nettrace_reader *reader, void *to, size_t bytes, uint64_t offset)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t got =
			pread(reader->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static bool read_version(
	struct bp_nettrace_reader *reader, const char *path, struct bp_error *error)
{
	uint8_t head[FIRST_OBJECT] = { 0 };
	const size_t got = read_at(reader, head, sizeof head, 0);
	struct bp_bytes bytes = bp_bytes_of(head + MAGIC_BYTES, sizeof head - MAGIC_BYTES);
	const uint32_t length = bp_bytes_u32(&bytes), major = bp_bytes_u32(&bytes);
	if (got >= HEAD_6_BYTES && length == 0) {
		if (major != 6)
			return bp_error_set(error,
				"%s: is a .nettrace file of version %u: versions 4 to 6 can be "
				"read",
				path, major);
		reader->version = 6;
		reader->at = HEAD_6_BYTES;
		return true;
	}
	if (got < sizeof head)
		return bp_error_set(error,
			"%s: is a .nettrace file cut off before its head: record again", path);
	if (length != SERIALIZER_BYTES ||
		memcmp(head + MAGIC_BYTES + 4, SERIALIZER, SERIALIZER_BYTES) != 0)
		return bp_error_set(error, "%s: begins like a .nettrace file, but is none", path);
	reader->version = 4;
	reader->at = FIRST_OBJECT;
	return true;
}

bool bp_nettrace_open(struct bp_nettrace_reader *reader, const char *path, struct bp_error *error)
{
	struct stat status;
	*reader = (struct bp_nettrace_reader){ .fd = -1 };
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	reader->opened = reader->fd >= 0;
	if (!reader->opened || fstat(reader->fd, &status) != 0)
		return bp_error_set(error, "%s: cannot be read: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode)) /* it was, when it was looked at first */
		return bp_error_set(error, "%s: is not a regular file: name a trace file", path);
	reader->file_bytes = (uint64_t)status.st_size;
	return read_version(reader, path, error);
}

void bp_nettrace_close(struct bp_nettrace_reader *reader)
{
	if (reader->opened)
		close(reader->fd);
	free(reader->block);
	free(reader->kinds);
	free(reader->threads);
	bp_index_finish(&reader->kinds_by_id);
	bp_index_finish(&reader->threads_by_key);
	*reader = (struct bp_nettrace_reader){ .fd = -1 };
}

/* The block of `bytes` bytes at the reader's place, or what the file has of it (`ret_cut`). */
static bool load_block(struct bp_nettrace_reader *reader, uint32_t bytes,
	struct bp_bytes *ret_block, bool *ret_cut, struct bp_error *error)
{
	const uint64_t left = reader->file_bytes > reader->at ? reader->file_bytes - reader->at : 0;
	const uint32_t there = bytes > left ? (uint32_t)left : bytes;
	if (there > BP_NETTRACE_BLOCK_MAX)
		return bp_error_set(error,
			"a block of %u bytes stands in the .nettrace file, more than any runtime "
			"writes: the file is damaged",
			there);
	if (there > reader->block_capacity) {
		uint8_t *grown = realloc(reader->block, there);
		if (grown == NULL)
			return bp_error_set(error, "out of memory while reading a .nettrace file");
		reader->block = grown;
		reader->block_capacity = there;
	}
	const size_t got = read_at(reader, reader->block, there, reader->at);
	*ret_cut = got < bytes;
	*ret_block = bp_bytes_of(reader->block, got);
	reader->at += got;
	reader->blocks++;
	return true;
}

static bool give_block(struct bp_nettrace_reader *reader, enum block_6 kind, struct bp_bytes block,
	bool cut, const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	switch (kind) {
	case BLOCK_EVENT:
		return bp_nettrace_events(reader, block, cut, handler, error);
	case BLOCK_METADATA:
		return reader->version >= 6 ? bp_nettrace_metadata_6(reader, block, error)
					    : bp_nettrace_metadata_4(reader, block, error);
	case BLOCK_SEQUENCE_POINT:
		return bp_nettrace_sequence_point(reader, block, error) &&
		       handler->on_flush(handler->context);
	case BLOCK_STACK:
		return bp_nettrace_stacks(reader, block, handler, error);
	case BLOCK_THREAD:
		return bp_nettrace_thread_rows(reader, block, error);
	case BLOCK_REMOVE_THREAD:
		return bp_nettrace_removed_threads(reader, block, error);
	default:
		return true;
	}
}

/* The head must come first. False: there is none. */
static bool take_head(
	struct bp_nettrace_reader *reader, struct bp_bytes block, struct bp_error *error)
{
	if (reader->headed)
		return true;
	reader->headed = bp_nettrace_head(reader, block);
	return reader->headed ||
	       bp_error_set(error, "the .nettrace file has no valid head: it is damaged or cut "
				   "off at its beginning");
}

/* The block at the reader's place: to the head if it is that, which must be the first, else to its
 * taker. */
static bool take_block(struct bp_nettrace_reader *reader, enum block_6 kind, uint32_t bytes,
	const struct bp_nettrace_handler *handler, bool *ret_cut, struct bp_error *error)
{
	struct bp_bytes block;
	if (!load_block(reader, bytes, &block, ret_cut, error))
		return false;
	if (kind == BLOCK_TRACE)
		return take_head(reader, block, error);
	if (!reader->headed)
		return take_head(reader, bp_bytes_of(NULL, 0), error);
	return give_block(reader, kind, block, *ret_cut, handler, error);
}

/* ---- versions 4 and 5 ---- */

static enum block_6 kind_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum block_6 kind;
	} names[] = { { "Trace", BLOCK_TRACE }, { "EventBlock", BLOCK_EVENT },
		{ "MetadataBlock", BLOCK_METADATA }, { "SPBlock", BLOCK_SEQUENCE_POINT },
		{ "StackBlock", BLOCK_STACK } };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].kind;
	return BLOCK_COUNT;
}

#define NAME_BYTES_MAX 64u
#define OBJECT_HEAD_BYTES (3u + 12u + NAME_BYTES_MAX + 1u + 4u + 3u)

enum object { OBJECT_FOUND, OBJECT_LAST, OBJECT_CUT, OBJECT_BAD };

/* The head of the next object; the reader then stands at its payload. */
static enum object next_object(
	struct bp_nettrace_reader *reader, enum block_6 *ret_kind, uint32_t *ret_bytes)
{
	uint8_t head[OBJECT_HEAD_BYTES];
	char name[NAME_BYTES_MAX + 1];
	const size_t got = read_at(reader, head, sizeof head, reader->at);
	struct bp_bytes bytes = bp_bytes_of(head, got);
	const uint8_t tag = bp_bytes_u8(&bytes);
	if (got != 0 && tag == TAG_NULL)
		return OBJECT_LAST;
	const uint8_t begin = bp_bytes_u8(&bytes), none = bp_bytes_u8(&bytes);
	(void)bp_bytes_u64(&bytes); /* versions of the object */
	const uint32_t length = bp_bytes_u32(&bytes);
	if (bytes.failed)
		return OBJECT_CUT;
	if (tag != TAG_BEGIN || begin != TAG_BEGIN || none != TAG_NULL || length > NAME_BYTES_MAX)
		return OBJECT_BAD;
	const uint8_t *text = bp_bytes_take(&bytes, length);
	const uint8_t end = bp_bytes_u8(&bytes);
	if (bytes.failed)
		return OBJECT_CUT;
	if (end != TAG_END)
		return OBJECT_BAD;
	memcpy(name, text, length);
	name[length] = '\0';
	*ret_kind = kind_of_name(name);
	*ret_bytes = TRACE_BYTES_4;
	if (*ret_kind != BLOCK_TRACE) {
		*ret_bytes = bp_bytes_u32(&bytes);
		uint64_t place = reader->at + (uint64_t)(bytes.at - head);
		(void)bp_bytes_take(&bytes, (4 - place % 4) % 4);
	}
	if (bytes.failed)
		return OBJECT_CUT;
	reader->at += (uint64_t)(bytes.at - head);
	return OBJECT_FOUND;
}

static bool read_objects(struct bp_nettrace_reader *reader,
	const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	for (;;) {
		enum block_6 kind;
		uint32_t bytes;
		bool cut;
		uint8_t tag = 0;
		const enum object object = next_object(reader, &kind, &bytes);
		if (object == OBJECT_LAST)
			return true;
		if (object != OBJECT_FOUND) {
			reader->bad_blocks += object == OBJECT_BAD;
			reader->cut = true;
			return true;
		}
		if (!take_block(reader, kind, bytes, handler, &cut, error))
			return false;
		if (cut || read_at(reader, &tag, 1, reader->at) != 1 || tag != TAG_END) {
			reader->bad_blocks += !cut && tag != TAG_END && tag != 0;
			reader->cut = true;
			return true;
		}
		reader->at++;
	}
}

/* ---- version 6 ---- */

static bool read_blocks(struct bp_nettrace_reader *reader,
	const struct bp_nettrace_handler *handler, struct bp_error *error)
{
	for (;;) {
		uint32_t head;
		bool cut;
		if (read_at(reader, &head, sizeof head, reader->at) != sizeof head) {
			reader->cut = true;
			return true;
		}
		reader->at += sizeof head;
		const uint32_t kind = head >> 24;
		if (kind == BLOCK_END)
			return true;
		if (!take_block(reader, kind < BLOCK_COUNT ? kind : BLOCK_COUNT, head & 0xFFFFFF,
			    handler, &cut, error))
			return false;
		if (cut) {
			reader->cut = true;
			return true;
		}
	}
}

bool bp_nettrace_read(struct bp_nettrace_reader *reader, const struct bp_nettrace_handler *handler,
	struct bp_error *error)
{
	const bool read = reader->version >= 6 ? read_blocks(reader, handler, error)
					       : read_objects(reader, handler, error);
	if (read && !reader->headed)
		return take_head(reader, bp_bytes_of(NULL, 0), error);
	return read;
}
