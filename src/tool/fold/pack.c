/* SPDX-License-Identifier: MIT */
/*
 * Of a trace only what is not zero is kept: its header, its counters, and its records, in pieces.
 * Runs of zeros that are shorter than what a piece begins with stay in the piece. Then all pieces
 * of a block are deflated together, with the beginning of the first block as dictionary, since the
 * processes of one server load the same libraries and allocate at the same places. See pack.h.
 */
#include "fold/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"

/* As long as the files are small: half of the time of level 6, and a tenth more bytes. */
#define DEFLATE_LEVEL 4
#define DEFLATE_MEMORY 9
#define ZEROS_LEAST 32 /* a run that ends a piece */

static void close_output(struct bp_pack_output *output)
{
	if (output->fd >= 0)
		close(output->fd); /* and with it the lock */
	free(output->raw);
	free(output->block);
	*output = (struct bp_pack_output){ .fd = -1 };
}

static bool fail(struct bp_pack_output *output, const struct bp_place *place, const char *what,
	struct bp_error *error)
{
	bp_error_set(error, "%s: %s: %s", place->path, what, strerror(errno));
	close_output(output);
	return false;
}

/* Reads what is there: where the whole blocks end, and the dictionary. */
static bool read_blocks(struct bp_pack_output *output, const struct bp_place *place,
	bp_pack_found *found, void *of, struct bp_error *error)
{
	struct bp_pack pack;
	struct bp_pack_entry entry;
	struct bp_error failure = { .text = "" };
	if (!bp_pack_open(&pack, place, error))
		return false;
	while (bp_pack_next(&pack, &entry, &failure))
		found(&entry, of);
	const bool good = failure.text[0] == '\0' && pack.damaged_blocks == 0;
	output->end = pack.offset;
	output->has_block = pack.has_dictionary;
	output->dictionary_bytes = pack.dictionary_bytes;
	memcpy(output->dictionary, pack.dictionary, pack.dictionary_bytes);
	bp_pack_close(&pack);
	return good || bp_error_set(error, "%s: %s", place->path,
			       failure.text[0] != '\0' ? failure.text
						       : "is damaged: nothing more is packed");
}

bool bp_pack_output_open(struct bp_pack_output *output, const struct bp_place *place,
	bp_pack_found *found, void *of, struct bp_error *error)
{
	struct stat status;
	*output = (struct bp_pack_output){ .fd = bp_place_open(place, O_RDWR | O_CREAT) };
	if (output->fd < 0 || fstat(output->fd, &status) != 0 || !S_ISREG(status.st_mode))
		return fail(output, place, "cannot be written", error);
	if (flock(output->fd, LOCK_EX | LOCK_NB) != 0)
		return fail(output, place, "is written by another program", error);
	if (!read_blocks(output, place, found, of, error)) {
		close_output(output);
		return false;
	}
	if ((uint64_t)status.st_size > output->end &&
		ftruncate(output->fd, (off_t)output->end) != 0)
		return fail(output, place, "cannot be cut", error);
	return true;
}

static bool put(struct bp_pack_output *output, const void *data, size_t bytes)
{
	const uint64_t needed = (uint64_t)output->raw_bytes + bytes;
	if (needed > BP_PACK_RAW_MAX ||
		!bp_vec_reserve(&output->raw, &output->raw_capacity, needed, 1))
		return false;
	memcpy(output->raw + output->raw_bytes, data, bytes);
	output->raw_bytes += (uint32_t)bytes;
	return true;
}

/* How many zeros stand at `data`. */
static size_t zeros_at(const uint8_t *data, size_t bytes)
{
	size_t zeros = 0;
	for (uint64_t word; bytes - zeros >= sizeof word; zeros += sizeof word) {
		memcpy(&word, data + zeros, sizeof word);
		if (word != 0)
			break;
	}
	while (zeros < bytes && data[zeros] == 0)
		zeros++;
	return zeros;
}

/* Where the piece that begins at `at` ends: before a long run of zeros, or those at the end. */
static size_t piece_end(const uint8_t *data, size_t bytes, size_t at)
{
	size_t end = at;
	for (;;) {
		const uint8_t *zero = memchr(data + end, 0, bytes - end);
		end = zero != NULL ? (size_t)(zero - data) : bytes;
		const size_t left = bytes - end;
		const size_t most = left < ZEROS_LEAST ? left : ZEROS_LEAST;
		const size_t zeros = zeros_at(data + end, most);
		if (zeros == most)
			return end;
		end += zeros;
	}
}

/* The pieces of some bytes that stand at `offset`. */
static bool put_pieces(
	struct bp_pack_output *output, const uint8_t *data, size_t bytes, uint64_t offset)
{
	size_t at = zeros_at(data, bytes);
	while (at < bytes) {
		const size_t end = piece_end(data, bytes, at);
		const struct bp_pack_piece piece = { offset + at, end - at };
		if (!put(output, &piece, sizeof piece) || !put(output, data + at, end - at))
			return false;
		at = end + zeros_at(data + end, bytes - end);
	}
	return true;
}

/* The pieces of a file. Its holes are not read, for the kernel would make pages of zeros for them;
 * where a file system cannot tell holes, all of the file is read. */
static bool put_file(struct bp_pack_output *output, int fd, uint64_t length, uint64_t of_part)
{
	uint8_t buffer[BP_CHUNK_BYTES];
	uint64_t offset = 0, hole = 0;
	while (offset < length) {
		if (offset >= hole) {
			const off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
			if (data < 0 && errno == ENXIO)
				return true;
			if (data > (off_t)offset)
				offset = (uint64_t)data;
			const off_t end = lseek(fd, (off_t)offset, SEEK_HOLE);
			hole = end > (off_t)offset ? (uint64_t)end : length;
		}
		const uint64_t left = (hole < length ? hole : length) - offset;
		const ssize_t got = pread(
			fd, buffer, left < sizeof buffer ? left : sizeof buffer, (off_t)offset);
		if (got <= 0)
			return got == 0;
		if (!put_pieces(output, buffer, (size_t)got, offset | of_part))
			return false;
		offset += (uint64_t)got;
	}
	return true;
}

static bool length_of(int fd, uint64_t *ret_length)
{
	struct stat status;
	*ret_length = 0;
	if (fd < 0)
		return true;
	if (fstat(fd, &status) != 0)
		return false;
	*ret_length = (uint64_t)status.st_size;
	return true;
}

bool bp_pack_output_add(struct bp_pack_output *output, const char *name, int fd, int part_fd)
{
	const uint32_t begin = output->raw_bytes;
	struct bp_pack_entry_head head = { .name_bytes = (uint32_t)strlen(name) };
	if (!length_of(fd, &head.file_bytes) || !length_of(part_fd, &head.part_bytes))
		return false;
	const bool good =
		put(output, &head, sizeof head) && put(output, name, head.name_bytes) &&
		put_file(output, fd, head.file_bytes, 0) &&
		(part_fd < 0 || put_file(output, part_fd, head.part_bytes, BP_PACK_OF_PART));
	if (!good) {
		output->raw_bytes = begin;
		return false;
	}
	head.entry_bytes = output->raw_bytes - begin;
	memcpy(output->raw + begin, &head, sizeof head);
	output->entries++;
	return true;
}

/* Deflates the entries behind the place of the block's header; 0: no memory. */
static uint32_t deflate_block(struct bp_pack_output *output)
{
	const uint64_t most = sizeof(struct bp_pack_block) + compressBound(output->raw_bytes) + 64;
	z_stream stream = { 0 };
	if (!bp_vec_reserve(&output->block, &output->block_capacity, most, 1) ||
		deflateInit2(&stream, DEFLATE_LEVEL, Z_DEFLATED, -MAX_WBITS, DEFLATE_MEMORY,
			Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.next_in = output->raw;
	stream.avail_in = output->raw_bytes;
	stream.next_out = output->block + sizeof(struct bp_pack_block);
	stream.avail_out = (uInt)(most - sizeof(struct bp_pack_block));
	const bool good =
		(output->dictionary_bytes == 0 || deflateSetDictionary(&stream, output->dictionary,
							  output->dictionary_bytes) == Z_OK) &&
		deflate(&stream, Z_FINISH) == Z_STREAM_END;
	const uint32_t stored = (uint32_t)stream.total_out;
	deflateEnd(&stream);
	return good ? stored : 0;
}

/* In one call, so that whoever is killed in it leaves a block that ends too early. */
static bool write_block(struct bp_pack_output *output, size_t bytes)
{
	const ssize_t written = pwrite(output->fd, output->block, bytes, (off_t)output->end);
	if (written == (ssize_t)bytes && fdatasync(output->fd) == 0)
		return true;
	const int failure = written >= 0 && (size_t)written < bytes ? ENOSPC : errno;
	/* (Where that fails too a reader passes it over.) */
	if (ftruncate(output->fd, (off_t)output->end) != 0)
		errno = failure;
	errno = failure;
	return false;
}

static void take_dictionary(struct bp_pack_output *output)
{
	output->has_block = true;
	output->dictionary_bytes = output->raw_bytes < BP_PACK_DICTIONARY_BYTES
					   ? output->raw_bytes
					   : BP_PACK_DICTIONARY_BYTES;
	memcpy(output->dictionary, output->raw, output->dictionary_bytes);
}

bool bp_pack_output_append(struct bp_pack_output *output)
{
	struct bp_pack_block block = {
		.magic = BP_PACK_MAGIC, .entries = output->entries, .raw_bytes = output->raw_bytes
	};
	if (output->entries == 0)
		return true;
	block.stored_bytes = deflate_block(output);
	bool good = block.stored_bytes > 0;
	errno = ENOMEM;
	if (good) {
		const size_t padded = (block.stored_bytes + (size_t)7) & ~(size_t)7;
		uint8_t *stored = output->block + sizeof block;
		memset(stored + block.stored_bytes, 0, padded - block.stored_bytes);
		block.checksum = bp_checksum(stored, block.stored_bytes);
		block.own_checksum = bp_pack_own_checksum(&block);
		memcpy(output->block, &block, sizeof block);
		good = write_block(output, sizeof block + padded);
		if (good)
			output->end += sizeof block + padded;
	}
	if (good && !output->has_block)
		take_dictionary(output);
	output->raw_bytes = 0;
	output->entries = 0;
	return good;
}
