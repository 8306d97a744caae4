/* SPDX-License-Identifier: MIT */
/* The file under the writer: what writer.c (records) asks of writer_file.c (mappings) and of
 * writer_outage.c (what waits while the file cannot grow), and these of each other. Private to
 * trace/. */
#ifndef BP_TRACE_WRITER_WRITER_FILE_H
#define BP_TRACE_WRITER_WRITER_FILE_H

#include "trace/writer/writer.h"

/* What waits in memory: chunks, then pointers to thread slots. */
#define BP_HELD_SLOTS (BP_CHUNK_BYTES / sizeof(struct bp_thread_slot *))
#define BP_HELD_BYTES ((BP_HELD_CHUNKS + 1) * (size_t)BP_CHUNK_BYTES)

/* Both: the lane is locked by the caller; false: nothing to write to, not even in memory. Closes
 * the lane's chunk, if any, and gives it a fresh one, its header page present and its magic not yet
 * stored. */
bool bp_writer_new_chunk(struct bp_writer *writer, struct bp_lane *lane);

/* Makes the first `bytes` bytes of the lane's chunk safe to store to; false: an outage begins, and
 * the lane needs a new chunk. */
bool bp_writer_make_ready(struct bp_writer *writer, struct bp_lane *lane, uint32_t bytes);

/* grow_lock held. The next chunk of the file, not present in memory yet; NULL when it cannot
 * grow. */
uint8_t *bp_writer_hand_out(struct bp_writer *writer);

/* Makes the pages of these bytes present and backed by disk; false: no room. */
bool bp_writer_populate(const struct bp_writer *writer, uint8_t *memory, size_t bytes);

/* A chunk is done with: its pages may go, and perhaps its mapping. */
void bp_writer_drop_chunk(
	struct bp_writer *writer, struct bp_mapping *mapping, struct bp_chunk_header *chunk);

/* The file cannot grow from now on. */
void bp_writer_outage_begin(struct bp_writer *writer);

/* grow_lock held. Keeps a chunk that was handed out, and had no disk, for the next try. */
void bp_writer_keep_spare(
	struct bp_writer *writer, uint8_t *memory, struct bp_mapping *mapping, uint64_t number);

/* The lane is locked, and has no chunk. Gives it one in memory. */
bool bp_writer_hold_chunk(struct bp_writer *writer, struct bp_lane *lane);

/* Counts a sample or a free that was written to a chunk in memory. The lane is locked. */
void bp_writer_count_held(struct bp_writer *writer, const struct bp_lane *lane, enum bp_tag tag);

/* Gives back what waits in memory. */
void bp_writer_outage_finish(struct bp_writer *writer);

#endif
