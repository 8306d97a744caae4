/* SPDX-License-Identifier: MIT */
/*
 * Header and state page of a trace that is open (docs/trace-format.md 1.1 and 1.3): they decide
 * whether there is a trace at all. Every way in which they can be wrong has its own sentence.
 */
#include "trace/head.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/intervals.h"
#include "trace/threads.h"

bool bp_trace_sniff(const uint8_t *head, size_t bytes)
{
	bool zeros = true;
	if (bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++)
		zeros = zeros && head[i] == 0;
	return zeros || memcmp(head, BP_TRACE_MAGIC, bytes < 8 ? bytes : 8) == 0;
}

static bool torn_header(const char *path, struct bp_error *error)
{
	return bp_error_set(error,
		"%s: torn before the end of its header: the program was stopped as it started, or "
		"the file was cut; record again",
		path);
}

/* What the fixed part of the header says before its checksum can be looked at. `bytes` are there.
 */
static bool check_header(const struct bp_trace_header *header, const char *path, size_t bytes,
	struct bp_error *error)
{
	const uint8_t *raw = (const uint8_t *)header;
	size_t strings = (size_t)header->program_length + header->command_line_length +
			 header->allocator_length + header->recorder_version_length;
	if (!bp_trace_sniff(raw, bytes < sizeof *header ? bytes : sizeof *header))
		return bp_error_set(error, "%s: is not a bytepoll trace", path);
	if (bytes < 40 || header->magic[0] == '\0')
		return torn_header(path, error);
	if (header->version_major != BP_TRACE_MAJOR)
		return bp_error_set(error,
			"%s: has trace version %u.%u, and this bytepoll reads version %u: read "
			"it with the bytepoll that recorded it",
			path, header->version_major, header->version_minor, BP_TRACE_MAJOR);
	if (header->flags_fatal != 0)
		return bp_error_set(error,
			"%s: needs features that this bytepoll does not know (flags 0x%llx): "
			"read it with the bytepoll that recorded it",
			path, (unsigned long long)header->flags_fatal);
	if (header->header_bytes >= sizeof *header && bytes < header->header_bytes &&
		header->header_bytes <= BP_HEADER_MAX_BYTES)
		return torn_header(path, error);
	if (header->header_bytes < sizeof *header || header->header_bytes > BP_HEADER_MAX_BYTES ||
		bp_checksum(raw + BP_HEADER_CHECKED_FROM,
			header->header_bytes - BP_HEADER_CHECKED_FROM) != header->checksum)
		return bp_error_set(
			error, "%s: its header is damaged (checksum): record again", path);
	if (header->chunk_bytes != BP_CHUNK_BYTES || header->law > BP_LAW_BERNOULLI ||
		strings > header->header_bytes - sizeof *header)
		return bp_error_set(error,
			"%s: its header contradicts itself (chunks of %u bytes, law %u, strings "
			"of %zu bytes): record again",
			path, header->chunk_bytes, header->law, strings);
	return true;
}

static struct bp_trace_text header_text(const uint8_t **at, uint16_t bytes)
{
	struct bp_trace_text text = { .data = (const char *)*at, .bytes = bytes };
	*at += bytes;
	return text;
}

/* The state page counts chunk 0 before the header has its magic: without that it was never written,
 * or lost. The file's length is asked for afterwards, as a running one only grows. */
static bool read_state(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	struct stat status;
	const size_t bytes =
		bp_trace_read_at(reader, &reader->state, sizeof reader->state, BP_STATE_OFFSET);
	if (bytes == SIZE_MAX || fstat(reader->fd, &status) != 0)
		return bp_error_set(error, "%s: cannot be read: %s", path, strerror(errno));
	/* (What was added later may be cut off, and reads as zeros.) */
	if (bytes < offsetof(struct bp_trace_state, outage_since_ns) ||
		reader->state.chunks_reserved == 0)
		return bp_error_set(error,
			"%s: torn behind its header: nothing is known of what the program did; the "
			"file was cut, or the machine stopped: copy it again, or record again",
			path);
	reader->bytes_at_state = (uint64_t)status.st_size;
	return true;
}

bool bp_trace_head_read(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	struct bp_trace_header *header = &reader->header;
	const uint8_t *at = reader->memory + sizeof *header;
	size_t bytes = bp_trace_read_at(reader, reader->memory, BP_HEADER_MAX_BYTES, 0);
	if (bytes == SIZE_MAX)
		return bp_error_set(error, "%s: cannot be read: %s", path, strerror(errno));
	memcpy(header, reader->memory, sizeof *header);
	/* The strings are checked where they stand, so the block is looked at, not the copy. */
	if (!check_header((const struct bp_trace_header *)(const void *)reader->memory, path, bytes,
		    error))
		return false;
	reader->program = header_text(&at, header->program_length);
	reader->command_line = header_text(&at, header->command_line_length);
	reader->allocator = header_text(&at, header->allocator_length);
	reader->recorder_version = header_text(&at, header->recorder_version_length);
	if (!read_state(reader, path, error))
		return false;
	if ((header->flags_skippable & BP_HEADER_DORMANT) == 0)
		bp_trace_intervals_note(reader, header->interval_bytes);
	reader->time_last_ns = header->start_monotonic_ns;
	return true;
}
