/* SPDX-License-Identifier: MIT */
/*
 * The streaming reader: opens a trace, walks its chunks and hands out records (decode.c) one by
 * one; threads.c keeps the totals, intervals.c what was allocated while sampling was off. In the
 * order of this file: reading bytes, opening (every way in which a file can be the wrong one has
 * its own sentence; of header and state in head.c), finding the next chunk, handing out records.
 *
 * The rule for whatever is not as docs/trace-format.md wants it: header and state decide whether
 * there is a trace at all, and are an error; beyond them, damage costs the chunk it is in, from the
 * damaged place on, and is counted. Nothing is trusted further than the bytes that were read:
 *
 *	file    its size is taken once, at opening; a shorter read later is a torn tail
 *	chunk   header first, then `committed` bytes: the writer stores them the other way
 *	        round, so what the header promises is there [unless the file was cut]
 *	zeros   a chunk never begun; the next data is asked of the file system (SEEK_DATA), so
 *	        a sparse file of any size costs what its data costs
 *
 * Never mapped: a third party that truncates the file must not kill its reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "trace/cut.h"
#include "trace/decode.h"
#include "trace/head.h"
#include "trace/intervals.h"
#include "trace/part.h"
#include "trace/threads.h"

/* Of the trace and its folded part, the one that is read now. */
static int file_now(const struct bp_trace_reader *reader)
{
	return reader->in_part ? reader->part.fd : reader->fd;
}

static uint64_t bytes_now(const struct bp_trace_reader *reader)
{
	return reader->in_part ? reader->part.file_bytes : reader->file_bytes;
}

size_t bp_trace_read_at(
	const struct bp_trace_reader *reader, void *data, size_t bytes, uint64_t offset)
{
	const int fd = file_now(reader);
	size_t done = 0;
	while (done < bytes) {
		ssize_t got = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			memset((char *)data + done, 0, bytes - done);
			return got < 0 ? SIZE_MAX : done;
		}
		done += (size_t)got;
	}
	return done;
}

/* Is what was opened a trace's file, as far as its kind tells? */
static bool check_file(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	struct stat status;
	if (fstat(reader->fd, &status) != 0)
		return bp_error_set(error, "%s: cannot be read: %s", path, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return bp_error_set(error,
			"%s: is a directory: name a trace file (FILE.d is read with FILE)", path);
	if (!S_ISREG(status.st_mode))
		return bp_error_set(error, "%s: is not a regular file: name a trace file", path);
	if (status.st_size == 0)
		return bp_error_set(error,
			"%s: is empty: the program was stopped before anything was recorded", path);
	reader->file_bytes = (uint64_t)status.st_size;
	return true;
}

/* Was the file packed (section 7) between its opening and its locking? Then its folded part is
 * gone, too. */
static bool was_removed(const struct bp_trace_reader *reader, const struct bp_place *place)
{
	struct stat status;
	return fstat(reader->fd, &status) == 0 && status.st_nlink == 0 &&
	       faccessat(place->folder, bp_place_name(place), F_OK, 0) != 0;
}

static bool open_file(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error)
{
	const char *path = place->path;
	/* Non-blocking: a FIFO without a writer must not hold us. Who names a file may name a
	 * link. */
	reader->fd = place->folder != AT_FDCWD
			     ? bp_place_open(place, O_RDONLY)
			     : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (reader->fd < 0)
		return bp_error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
	reader->is_open = true;
	bp_trace_part_lock(reader);
	if (was_removed(reader, place))
		return bp_error_set(error, "%s: cannot be opened: %s", path, strerror(ENOENT));
	return check_file(reader, path, error);
}

/* calloc aligns for the header and the slots, and nothing uninitialised is ever shown. */
static bool make_memory(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	reader->memory = calloc(1, BP_HEADER_MAX_BYTES + 2 * (size_t)BP_CHUNK_BYTES);
	return reader->memory != NULL || bp_error_set(error, "%s: out of memory", path);
}

/* Of a file that is open: what stands before its records. */
static bool read_beginning(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	return bp_trace_head_read(reader, path, error) &&
	       (bp_trace_threads_slots(reader, BP_SLOTS_OFFSET, BP_SLOTS_IN_FIRST) ||
		       bp_error_set(error, "%s: out of memory", path));
}

static void begin_records(struct bp_trace_reader *reader)
{
	reader->in_part = reader->part.is_open;
	reader->next_chunk = 1;
	reader->chunks = 1;
}

bool bp_trace_reader_open(struct bp_trace_reader *reader, const char *path, struct bp_error *error)
{
	const struct bp_place place = { AT_FDCWD, path };
	return bp_trace_reader_open_place(reader, &place, error);
}

bool bp_trace_reader_open_place(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error)
{
	const char *path = place->path;
	memset(reader, 0, sizeof *reader);
	if (!make_memory(reader, path, error) || !open_file(reader, place, error) ||
		!read_beginning(reader, path, error) ||
		((reader->header.flags_skippable & BP_HEADER_FOLDED) == 0 &&
			!bp_trace_part_open(reader, place, error))) {
		bp_trace_reader_close(reader);
		return false;
	}
	begin_records(reader);
	return true;
}

bool bp_trace_reader_open_files(struct bp_trace_reader *reader, int fd, int part_fd,
	const char *name, struct bp_error *error)
{
	memset(reader, 0, sizeof *reader);
	reader->fd = fd;
	reader->is_open = true;
	const bool good = make_memory(reader, name, error) && check_file(reader, name, error) &&
			  read_beginning(reader, name, error);
	if (part_fd >= 0 && (!good || !bp_trace_part_adopt(reader, part_fd)))
		close(part_fd);
	if (good)
		begin_records(reader);
	else
		bp_trace_reader_close(reader);
	return good;
}

void bp_trace_reader_close(struct bp_trace_reader *reader)
{
	if (reader->is_open)
		close(reader->fd);
	bp_trace_part_close(&reader->part);
	free(reader->memory);
	free(reader->decoder.frames);
	free(reader->threads);
	free(reader->slot_chunks);
	free(reader->verify_sums);
	free(reader->switches);
	free(reader->outages);
	bp_index_finish(&reader->thread_index);
	memset(reader, 0, sizeof *reader);
}

/* The number of the first chunk after `number` that may hold anything. */
static uint64_t chunk_with_data(const struct bp_trace_reader *reader, uint64_t number)
{
	uint64_t next = number + 1;
	off_t data;
	if (next * BP_CHUNK_BYTES >= bytes_now(reader))
		return next;
	data = lseek(file_now(reader), (off_t)(next * BP_CHUNK_BYTES), SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? bytes_now(reader) / BP_CHUNK_BYTES + 1 : next;
	return (uint64_t)data / BP_CHUNK_BYTES > next ? (uint64_t)data / BP_CHUNK_BYTES : next;
}

static void note_time(struct bp_trace_reader *reader, uint64_t time_ns)
{
	if (time_ns > reader->time_last_ns)
		reader->time_last_ns = time_ns;
}

static void count_damage(struct bp_trace_reader *reader)
{
	if (!reader->chunk_counted)
		reader->damaged_chunks++;
	reader->chunk_counted = true;
}

/* Reads the payload of a record chunk. `ret_bytes`: so much of it can be decoded, 0 where the
 * checksum differs, less than `committed` where the file ends in the middle. False: the disk. */
static bool load_payload(struct bp_trace_reader *reader, const struct bp_chunk_header *chunk,
	uint64_t offset, size_t *ret_bytes)
{
	uint8_t *payload = reader->memory + BP_HEADER_MAX_BYTES;
	size_t bytes = bp_trace_read_at(reader, payload, chunk->committed, offset + sizeof *chunk);
	if (bytes == SIZE_MAX)
		return false;
	*ret_bytes = bytes;
	/* Sealed: missing bytes read as zeros, and the checksum judges them too. */
	if (chunk->sealed)
		*ret_bytes = bp_checksum(payload, chunk->committed) == chunk->checksum
				     ? chunk->committed
				     : 0;
	return true;
}

static bool cannot_read(uint64_t number, struct bp_error *error)
{
	return bp_error_set(error, "trace: chunk %llu cannot be read: %s",
		(unsigned long long)number, strerror(errno));
}

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "trace: out of memory");
}

static bool start_records(struct bp_trace_reader *reader, struct bp_chunk_header *chunk,
	uint64_t offset, struct bp_error *error)
{
	struct bp_trace_decoder *decoder = &reader->decoder;
	size_t bytes = 0;
	if (chunk->committed > BP_PAYLOAD_BYTES || chunk->law > BP_LAW_BERNOULLI) {
		count_damage(reader);
		return true;
	}
	if (!load_payload(reader, chunk, offset, &bytes))
		return cannot_read(chunk->number, error);
	if (bytes < chunk->committed)
		count_damage(reader);
	decoder->payload = bp_bytes_of(reader->memory + BP_HEADER_MAX_BYTES, bytes);
	decoder->time_ns = chunk->base_time_ns - decoder->clock_offset_ns;
	decoder->sequence = chunk->base_sequence;
	decoder->address = decoder->trials = decoder->objects = 0;
	decoder->thread = 0;
	decoder->interval = chunk->interval_bytes;
	decoder->law = chunk->law;
	/* (0: the first record is of no time, and what follows begins at 0.) */
	if (bytes != 0 && chunk->base_time_ns != 0)
		note_time(reader, decoder->time_ns);
	return true;
}

/* Keeps the sums of a chunk of the exact sums that are in use. */
static bool take_verify(
	struct bp_trace_reader *reader, uint64_t number, uint64_t offset, struct bp_error *error)
{
	struct bp_trace_verify_sums sums;
	const uint8_t *payload = reader->memory + BP_HEADER_MAX_BYTES;
	const size_t got = bp_trace_read_at(
		reader, reader->memory + BP_HEADER_MAX_BYTES, BP_PAYLOAD_BYTES, offset);
	if (got == SIZE_MAX)
		return cannot_read(number, error);
	for (size_t at = 0; at + sizeof sums <= BP_PAYLOAD_BYTES; at += sizeof sums) {
		memcpy(&sums, payload + at, sizeof sums);
		if (sums.state != 1)
			continue;
		if (!bp_vec_reserve(&reader->verify_sums, &reader->verify_capacity,
			    reader->verify_sums_count + 1u, sizeof *reader->verify_sums))
			return no_memory(error);
		reader->verify_sums[reader->verify_sums_count++] = sums;
	}
	return true;
}

enum advanced { CHUNK_STARTED, NO_MORE_CHUNKS, CHUNK_FAILED };

/* Moves to the next chunk that holds records. */
static enum advanced next_chunk(struct bp_trace_reader *reader, struct bp_error *error)
{
	while (reader->next_chunk <= (bytes_now(reader) - 1) / BP_CHUNK_BYTES) {
		struct bp_chunk_header chunk;
		uint64_t number = reader->next_chunk++, offset = number * BP_CHUNK_BYTES;
		size_t bytes = bp_trace_read_at(reader, &chunk, sizeof chunk, offset);
		if (bytes == SIZE_MAX) {
			cannot_read(number, error);
			return CHUNK_FAILED;
		}
		if (bytes == 0)
			break;
		reader->chunks++;
		reader->chunk_counted = false;
		if (!reader->in_part && reader->part.is_open &&
			bp_trace_held_has(&reader->part.held, number))
			continue;
		if (chunk.magic == 0) {
			reader->has_hole = true;
			reader->next_chunk = chunk_with_data(reader, number);
			continue;
		}
		if (chunk.magic != BP_CHUNK_MAGIC || chunk.number != number) {
			count_damage(reader);
			continue;
		}
		if (chunk.kind == BP_CHUNK_THREADS &&
			!bp_trace_threads_slots(reader, offset + sizeof chunk, BP_SLOTS_IN_CHUNK)) {
			no_memory(error);
			return CHUNK_FAILED;
		}
		if (chunk.kind == BP_CHUNK_VERIFY_SUMS &&
			!take_verify(reader, number, offset + sizeof chunk, error))
			return CHUNK_FAILED;
		if (chunk.kind == BP_CHUNK_RECORDS) {
			if (!start_records(reader, &chunk, offset, error))
				return CHUNK_FAILED;
			if (bp_bytes_left(&reader->decoder.payload) != 0)
				return CHUNK_STARTED;
		}
	}
	reader->next_chunk = UINT64_MAX;
	return NO_MORE_CHUNKS;
}

static bool note_readings(struct bp_trace_reader *reader, const struct bp_trace_readings *readings)
{
	struct bp_trace_readings walk = *readings;
	struct bp_trace_reading reading;
	while (bp_trace_readings_next(&walk, &reading)) {
		note_time(reader, reading.time_ns);
		if (!bp_trace_threads_seen(
			    reader, readings->thread, reading.trials, reading.objects))
			return false;
	}
	return true;
}

/* Counts a record and takes from it what the reader itself keeps. False: no memory. */
static bool note_record(struct bp_trace_reader *reader, const struct bp_trace_record *record)
{
	switch (record->tag) {
	case BP_TAG_SAMPLE:
		reader->samples++;
		note_time(reader, record->sample.time_ns);
		if (record->sample.interval < reader->interval_min ||
			record->sample.interval > reader->interval_max)
			bp_trace_intervals_note(reader, record->sample.interval);
		return bp_trace_threads_seen(reader, record->sample.thread, record->sample.trials,
			record->sample.objects);
	case BP_TAG_FREE:
		reader->frees++;
		note_time(reader, record->free.time_ns);
		return bp_trace_threads_seen(
			reader, record->free.thread, record->free.trials, record->free.objects);
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		note_time(reader, record->thread.time_ns);
		return bp_trace_threads_event(
			reader, &record->thread, record->tag == BP_TAG_THREAD_END);
	case BP_TAG_EXEC:
		note_time(reader, record->exec.time_ns);
		return true;
	case BP_TAG_FORK:
		note_time(reader, record->fork.time_ns);
		return true;
	case BP_TAG_INTERVAL:
		note_time(reader, record->interval.time_ns);
		bp_trace_intervals_note(reader, record->interval.interval);
		return bp_trace_intervals_add(reader, &record->interval) &&
		       bp_trace_threads_seen(reader, record->interval.thread,
			       record->interval.trials, record->interval.objects);
	case BP_TAG_OUTAGE:
		note_time(reader, record->outage.to_ns);
		return bp_trace_intervals_outage(reader, &record->outage);
	case BP_TAG_MAPPING:
		note_time(reader, record->mapping.time_ns);
		return true;
	case BP_TAG_FOLDED:
		reader->samples += record->folded.objects;
		reader->frees += record->folded.objects;
		bp_trace_intervals_note(reader, record->folded.interval);
		return bp_trace_threads_seen(reader, record->folded.thread, 0, 0);
	case BP_TAG_READINGS:
		return note_readings(reader, &record->readings);
	default:
		return true;
	}
}

/* Records that only a folded part may hold. */
static bool is_of_part(enum bp_tag tag)
{
	return tag >= BP_TAG_FOLDED && tag <= BP_TAG_HELD;
}

/* What a record of a folded part says about it; elsewhere such a record means nothing. */
static enum bp_trace_decoded take_part(
	struct bp_trace_reader *reader, const struct bp_trace_record *record)
{
	if (!reader->in_part && (reader->header.flags_skippable & BP_HEADER_FOLDED) == 0)
		return BP_TRACE_SKIPPED;
	switch (bp_trace_part_take(reader, record)) {
	case BP_TRACE_ADDED:
		return BP_TRACE_DECODED;
	case BP_TRACE_ADD_NO_MEMORY:
		return BP_TRACE_NO_MEMORY;
	case BP_TRACE_NOT_IN_ORDER:
		break;
	}
	return BP_TRACE_MALFORMED;
}

static enum bp_trace_decoded decode_next(
	struct bp_trace_reader *reader, struct bp_trace_record *ret_record)
{
	const enum bp_trace_decoded decoded = bp_trace_decode(&reader->decoder, ret_record);
	if (decoded == BP_TRACE_DECODED && is_of_part(ret_record->tag))
		return take_part(reader, ret_record);
	return decoded;
}

enum bp_trace_next bp_trace_reader_next(
	struct bp_trace_reader *reader, struct bp_trace_record *ret_record, struct bp_error *error)
{
	for (;;) {
		while (bp_bytes_left(&reader->decoder.payload) != 0) {
			switch (decode_next(reader, ret_record)) {
			case BP_TRACE_DECODED:
				if (note_record(reader, ret_record))
					return BP_TRACE_RECORD;
				no_memory(error);
				return BP_TRACE_ERROR;
			case BP_TRACE_NO_MEMORY:
				no_memory(error);
				return BP_TRACE_ERROR;
			case BP_TRACE_FATAL:
				bp_error_set(error,
					"trace: has records of kind %u, which this bytepoll does "
					"not know: read it with the bytepoll that recorded it",
					(unsigned)ret_record->tag);
				return BP_TRACE_ERROR;
			case BP_TRACE_SKIPPED:
				reader->skipped_records++;
				break;
			case BP_TRACE_MALFORMED:
				count_damage(reader);
				reader->decoder.payload = bp_bytes_of(NULL, 0);
				break;
			}
		}
		if (reader->next_chunk == UINT64_MAX)
			return BP_TRACE_END;
		switch (next_chunk(reader, error)) {
		case CHUNK_STARTED:
			break;
		case CHUNK_FAILED:
			return BP_TRACE_ERROR;
		case NO_MORE_CHUNKS:
			if (reader->in_part) {
				reader->in_part = false;
				reader->next_chunk = 1;
				break;
			}
			if (!bp_trace_threads_finish(reader) ||
				!bp_trace_intervals_last_outage(reader)) {
				no_memory(error);
				return BP_TRACE_ERROR;
			}
			bp_trace_intervals_finish(reader);
			reader->is_cut = bp_trace_is_cut(reader);
			return bp_trace_part_check(reader, error) ? BP_TRACE_END : BP_TRACE_ERROR;
		}
	}
}

/* As note_record. */
static bool note_numbers(
	struct bp_trace_reader *reader, const struct bp_trace_record *records, uint32_t count)
{
	uint64_t latest_ns = 0, samples = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_trace_record *record = &records[i];
		if (record->sample.time_ns > latest_ns)
			latest_ns = record->sample.time_ns;
		if (record->tag != BP_TAG_SAMPLE)
			continue;
		samples++;
		if (record->sample.interval < reader->interval_min ||
			record->sample.interval > reader->interval_max)
			bp_trace_intervals_note(reader, record->sample.interval);
	}
	reader->samples += samples;
	reader->frees += count - samples;
	note_time(reader, latest_ns);
	return bp_trace_threads_seen_all(reader, records, count);
}

bool bp_trace_reader_numbers(struct bp_trace_reader *reader, struct bp_trace_record *ret_records,
	uint32_t most, uint32_t *ret_count, struct bp_error *error)
{
	const uint32_t count = bp_trace_decode_numbers(&reader->decoder, ret_records, most);
	if (!note_numbers(reader, ret_records, count))
		return no_memory(error);
	*ret_count = count;
	return true;
}

bool bp_trace_reader_is_whole(const struct bp_trace_reader *reader)
{
	return !reader->is_cut && reader->damaged_chunks == 0 &&
	       reader->samples >= reader->state.samples;
}
