/* SPDX-License-Identifier: MIT */
/*
 * Is all of the file there? A writer makes the file long enough before it hands a chunk out, so a
 * file holds every chunk that its state page has counted, unless it was shortened afterwards. That
 * happens in order too: `bytepoll run` and copies of a running trace leave out what holds nothing,
 *
 *	chunks at the end that were handed out and never begun
 *	of the last one that was begun what lies behind its records, from the next multiple of 8 on
 *
 * and so end where the records of their last chunk do. Whatever is shorter and ends elsewhere was
 * cut by somebody else: an interrupted copy, a full disk, `head -c`. Where the two look alike
 * (nothing but chunk 0, or a chunk of slots at the end, and more was handed out) it is called cut.
 * A report of a cut file states no upper limit; that is the smaller mistake, since a limit that is
 * stated and does not hold misleads.
 */
#include "trace/cut.h"

#include "trace/threads.h"

static bool is_file_cut(const struct bp_trace_reader *reader)
{
	const uint64_t bytes = reader->bytes_at_state, reserved = reader->state.chunks_reserved;
	struct bp_chunk_header chunk;
	if (bytes < BP_CHUNK_BYTES)
		return true;
	const uint64_t chunks = (bytes - 1) / BP_CHUNK_BYTES + 1;
	if (chunks > reserved || (chunks == reserved && bytes % BP_CHUNK_BYTES == 0))
		return false;
	if (chunks == 1)
		return true;
	const uint64_t offset = (chunks - 1) * BP_CHUNK_BYTES, rest = bytes - offset;
	/* Given back to the disk: its length was right when it was folded. */
	if (reader->part.is_open && bp_trace_held_has(&reader->part.held, chunks - 1))
		return chunks < reserved;
	if (bp_trace_read_at(reader, &chunk, sizeof chunk, offset) != sizeof chunk)
		return true;
	if (chunk.magic != BP_CHUNK_MAGIC || chunk.kind != BP_CHUNK_RECORDS ||
		chunk.committed > BP_PAYLOAD_BYTES)
		return true;
	const uint64_t end = sizeof chunk + chunk.committed;
	return rest < end || (chunks < reserved && rest > ((end + 7) & ~(uint64_t)7));
}

bool bp_trace_is_cut(const struct bp_trace_reader *reader)
{
	const struct bp_trace_part *part = &reader->part;
	/* A folded part is written whole. */
	if (part->is_open && part->file_bytes / BP_CHUNK_BYTES < part->chunks_reserved)
		return true;
	return is_file_cut(reader);
}
