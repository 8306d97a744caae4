/* SPDX-License-Identifier: MIT */
/*
 * The insides of the blocks of a .nettrace file, for nettrace_reader.c alone. Each function takes
 * the payload of one block, which is all there or cut off, and returns false when there is no
 * memory or a callback said so (`error` is set); what is damaged in a block is counted, and the
 * rest of it left out.
 */
#ifndef BP_IMPORT_DOTNET_NETTRACE_BLOCKS_H
#define BP_IMPORT_DOTNET_NETTRACE_BLOCKS_H

#include "import/dotnet/nettrace_reader.h"

bool bp_nettrace_head(struct bp_nettrace_reader *reader, struct bp_bytes bytes);
bool bp_nettrace_events(struct bp_nettrace_reader *reader, struct bp_bytes bytes, bool cut,
	const struct bp_nettrace_handler *handler, struct bp_error *error);
bool bp_nettrace_metadata_4(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error);
bool bp_nettrace_metadata_6(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error);
bool bp_nettrace_stacks(struct bp_nettrace_reader *reader, struct bp_bytes bytes,
	const struct bp_nettrace_handler *handler, struct bp_error *error);
bool bp_nettrace_sequence_point(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error);
bool bp_nettrace_thread_rows(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error);
bool bp_nettrace_removed_threads(
	struct bp_nettrace_reader *reader, struct bp_bytes bytes, struct bp_error *error);

/* The head of an event, whatever its form; state is carried from event to event of a block. */
struct bp_nettrace_event_head {
	uint64_t metadata, capture_thread, thread, time;
	uint32_t sequence, stack, payload_bytes;
};
/* Reads a head and the payload behind it; false: the block ends within. */
bool bp_nettrace_event_head(struct bp_nettrace_event_head *head, struct bp_bytes *bytes,
	bool compressed, const uint8_t *block, struct bp_bytes *ret_payload);

/* Notes that `thread` captured the event of that number. False: no memory. */
bool bp_nettrace_captured(struct bp_nettrace_reader *reader, uint64_t thread, uint32_t sequence);
/* Notes that `thread` had come to that number. */
bool bp_nettrace_reached(struct bp_nettrace_reader *reader, uint64_t thread, uint32_t sequence);
/* The entry of a thread, made if need be; NULL: no memory. */
struct bp_nettrace_thread *bp_nettrace_thread_of(struct bp_nettrace_reader *reader, uint64_t key);

#endif
