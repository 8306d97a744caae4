/* SPDX-License-Identifier: MIT */
/*
 * FILE.d/packed: the traces of processes that have ended, one behind the other in one compressed
 * file (docs/trace-format.md, section 7). Each entry is a whole trace as it stood in a file of its
 * own, with its folded part if it had one, without the bytes that are zero. An entry is read by
 * writing it into a file in memory, which the reader of traces then reads as any other.
 *
 * The file only grows, block by block, and whoever packs a trace removes its own file afterwards.
 * So a reader that first reads the files of FILE.d and then this one misses no process, and meets
 * some twice: it counts each trace id once. What stands behind the last whole block is the
 * beginning of one that is being written, or was when its writer was killed; it is passed over.
 *
 * Damage costs the block it is in, and is counted. Memory: two buffers of the size of the largest
 * block, 16 MiB at most each. Thread-safety: everything belongs to its caller.
 */
#ifndef BP_TRACE_PACK_H
#define BP_TRACE_PACK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/place.h"
#include "trace/format.h"

#define BP_PACK_NAME "packed" /* in FILE.d */
#define BP_PACK_MAGIC 0x4B505042u
#define BP_PACK_RAW_MAX ((uint32_t)16 << 20) /* of one block */
#define BP_PACK_DICTIONARY_BYTES 32768u	     /* the window of deflate */
#define BP_PACK_OF_PART ((uint64_t)1 << 63)  /* in the offset of a piece: of the folded part */

/* What stands before the compressed bytes of a block; behind these, zeros up to a multiple of 8. */
struct bp_pack_block {
	uint32_t magic;
	uint32_t entries;      /* in this block */
	uint32_t stored_bytes; /* compressed */
	uint32_t raw_bytes;    /* of the entries */
	uint64_t checksum;     /* of the compressed bytes (1.5) */
	uint64_t own_checksum; /* of what stands before it here */
};
_Static_assert(sizeof(struct bp_pack_block) == 32, "as in the file");

static inline uint64_t bp_pack_own_checksum(const struct bp_pack_block *block)
{
	return bp_checksum(block, offsetof(struct bp_pack_block, own_checksum));
}

/* What an entry begins with; its name and its pieces follow. */
struct bp_pack_entry_head {
	uint32_t entry_bytes; /* all of the entry */
	uint32_t name_bytes;
	uint64_t file_bytes; /* length of the trace */
	uint64_t part_bytes; /* length of the folded part; 0: there is none */
};
_Static_assert(sizeof(struct bp_pack_entry_head) == 24, "as in the file");

/* What a piece begins with; its bytes follow. */
struct bp_pack_piece {
	uint64_t offset; /* in the trace, or with BP_PACK_OF_PART in the folded part */
	uint64_t bytes;
};

/* An entry that was read: valid until the next one. */
struct bp_pack_entry {
	char name[NAME_MAX + 1]; /* that the file had in FILE.d */
	struct bp_trace_header header;
	struct bp_trace_state state;
	uint64_t file_bytes, part_bytes;
	const uint8_t *pieces; /* checked: each lies within the entry and its file */
	size_t pieces_bytes;
};

struct bp_pack {
	int fd;		 /* -1: there is no such file */
	uint64_t offset; /* of the next block; at the end, where the whole blocks end */
	uint64_t damaged_blocks;
	/* Private. */
	uint8_t *stored, *raw;
	uint32_t stored_capacity, raw_capacity, raw_bytes, at, entries_left;
	uint8_t dictionary[BP_PACK_DICTIONARY_BYTES];
	uint32_t dictionary_bytes;
	bool has_dictionary;
	int expanded[2]; /* files in memory that entries are written into; -1: not made yet */
};

/* Opens the packed file at `place`. One that is missing has no entries. */
bool bp_pack_open(struct bp_pack *pack, const struct bp_place *place, struct bp_error *error);

/* The next entry. False: there is none, or no memory, which `error` says. */
bool bp_pack_next(struct bp_pack *pack, struct bp_pack_entry *entry, struct bp_error *error);

/* Writes an entry into files in memory. `*ret_fd` and `*ret_part_fd` (-1: it has no folded part)
 * are the caller's to close; they are the same files for the next entry. */
bool bp_pack_expand(struct bp_pack *pack, const struct bp_pack_entry *entry, int *ret_fd,
	int *ret_part_fd, struct bp_error *error);

void bp_pack_close(struct bp_pack *pack); /* safe on a failed open */

#endif
