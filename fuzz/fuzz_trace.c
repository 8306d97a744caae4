/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of the trace reader and importer: whatever bytes a file holds, they must come to an end
 * without a wrong access, with bounded memory, and with a profile whose indices are all good.
 *
 * A trace is 64 KiB of mostly zeros before its first record, which no fuzzer gets through. So the
 * input is a list of pieces, each of which lands where it means something, and the checksums are
 * put right afterwards (unless a piece says not to), or every change would only test the checksum:
 *
 *	OFFSET  SIZE   MEANING
 *	0       1      where: 0 header, 1 state, 2 slots, 3..10 chunk 1..8, 15 the end of the file
 *	               (offset then cuts it there, in units of 16 bytes); + 16: leave the
 *	               checksum alone
 *	1       2      offset within that place
 *	3       2      bytes that follow
 *	5       n      the bytes
 *
 * The harness is the same for libFuzzer (clang) and for the regression driver (replay.c).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "check_profile.h"
#include "trace/reader.h"

#define CHUNKS 9u
#define FILE_BYTES (CHUNKS * BP_CHUNK_BYTES)
#define PLACES (CHUNKS + 2)
#define WHERE_END 15u
#define WHERE_RAW 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct image {
	uint8_t bytes[FILE_BYTES];
	size_t length;
	size_t dirty[PLACES];	/* bytes from the start of each place that may not be zero */
	uint32_t raw_checksums; /* bit by place */
};

static size_t place_offset(unsigned place)
{
	static const uint32_t in_first[] = { 0, BP_STATE_OFFSET, BP_SLOTS_OFFSET };
	return place < 3 ? in_first[place] : (place - 2) * BP_CHUNK_BYTES;
}

static size_t place_bytes(unsigned place)
{
	return (place + 1 < PLACES ? place_offset(place + 1) : FILE_BYTES) - place_offset(place);
}

static void put_piece(
	struct image *image, unsigned where, size_t offset, const uint8_t *data, size_t bytes)
{
	unsigned place = where & 15;
	if (place == WHERE_END)
		image->length = offset * 16 < FILE_BYTES ? offset * 16 : FILE_BYTES;
	if (place >= PLACES || offset >= place_bytes(place))
		return;
	if (where & WHERE_RAW)
		image->raw_checksums |= 1u << place;
	if (bytes > place_bytes(place) - offset)
		bytes = place_bytes(place) - offset;
	memcpy(image->bytes + place_offset(place) + offset, data, bytes);
	if (offset + bytes > image->dirty[place])
		image->dirty[place] = offset + bytes;
}

static void fix_checksums(struct image *image)
{
	struct bp_trace_header header;
	memcpy(&header, image->bytes, sizeof header);
	if (!(image->raw_checksums & 1) && header.header_bytes >= BP_HEADER_CHECKED_FROM &&
		header.header_bytes <= BP_HEADER_MAX_BYTES) {
		header.checksum = bp_checksum(image->bytes + BP_HEADER_CHECKED_FROM,
			header.header_bytes - BP_HEADER_CHECKED_FROM);
		memcpy(image->bytes, &header, sizeof header);
	}
	for (unsigned place = 3; place < PLACES; place++) {
		uint8_t *at = image->bytes + place_offset(place);
		struct bp_chunk_header chunk;
		memcpy(&chunk, at, sizeof chunk);
		if ((image->raw_checksums & (1u << place)) || !chunk.sealed ||
			chunk.committed > BP_PAYLOAD_BYTES)
			continue;
		chunk.checksum = bp_checksum(at + sizeof chunk, chunk.committed);
		memcpy(at, &chunk, sizeof chunk);
	}
}

/* Fills an image that is all zeros. */
static void build_image(struct image *image, const uint8_t *data, size_t bytes)
{
	struct bp_bytes pieces = bp_bytes_of(data, bytes);
	image->length = FILE_BYTES;
	while (bp_bytes_left(&pieces) > 0) {
		uint8_t where = bp_bytes_u8(&pieces);
		uint16_t offset = bp_bytes_u16(&pieces), length = bp_bytes_u16(&pieces);
		size_t left = bp_bytes_left(&pieces);
		const uint8_t *piece = bp_bytes_take(&pieces, length < left ? length : left);
		if (pieces.failed)
			break;
		put_piece(image, where, offset, piece, length < left ? length : left);
	}
	fix_checksums(image);
}

/* Writes what is not zero, cuts the file to its length and leaves the image all zeros again. */
static void write_image(struct image *image, int fd)
{
	for (unsigned place = 0; place < PLACES; place++) {
		uint8_t *at = image->bytes + place_offset(place);
		/* Fixing a checksum may have made more of it dirty. */
		size_t bytes = image->dirty[place] < 64 ? 64 : image->dirty[place];
		bp_fuzz_require(
			pwrite(fd, at, bytes, (off_t)place_offset(place)) == (ssize_t)bytes);
		memset(at, 0, bytes);
		image->dirty[place] = 0;
	}
	bp_fuzz_require(ftruncate(fd, (off_t)image->length) == 0);
	image->raw_checksums = 0;
}

/* The records of a folded part are read from a file of its own only by tools: the importer wants
 * the trace beside it. What a record holds can be walked to its end, and refers to ticks there
 * are. */
static void read_as_part(const char *path)
{
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_trace_folded_entry entry;
	struct bp_trace_reading reading;
	if (!bp_trace_reader_open(&reader, path, NULL))
		return;
	while (bp_trace_reader_next(&reader, &record, NULL) == BP_TRACE_RECORD) {
		if (record.tag == BP_TAG_FOLDED)
			while (bp_trace_folded_next(&record.folded, &entry))
				bp_fuzz_require(entry.death < reader.part.clock.count &&
						entry.birth <= entry.death && entry.halves != 0);
		if (record.tag == BP_TAG_READINGS)
			while (bp_trace_readings_next(&record.readings, &reading))
				;
	}
	bp_trace_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct image image;
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	build_image(&image, data, bytes);
	write_image(&image, fd);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_as_part(path);
	/* Each choice of frames has its turn, by the length of the input; and what was mapped. */
	const struct bp_frame_choice frames = { .python = (enum bp_python_frames)(bytes % 3),
		.hide_imports = bytes % 2 != 0 };
	bp_fuzz_import(fd, frames, bytes % 5 == 0);
	close(fd);
	return 0;
}
