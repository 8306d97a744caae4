/* SPDX-License-Identifier: MIT */
/*
 * Writing FILE.d/packed (docs/trace-format.md, section 7): traces whose processes have ended are
 * gathered in memory and appended as one block. Which traces are packed, and the removal of their
 * own files, is the caller's business (cli/files/tree_pack.c). Thread-safety: everything belongs to
 * its caller.
 */
#ifndef BP_FOLD_PACK_H
#define BP_FOLD_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/pack.h"

/* A packed file that is being written. */
struct bp_pack_output {
	int fd;	      /* -1: not opened */
	uint64_t end; /* of its whole blocks */
	uint8_t dictionary[BP_PACK_DICTIONARY_BYTES];
	uint32_t dictionary_bytes;
	bool has_block; /* and with it a dictionary */
	uint8_t *raw;	/* the entries of the next block */
	uint8_t *block; /* what is written */
	uint32_t raw_bytes, raw_capacity, block_capacity, entries;
};

/* Called for each entry that an opened file has already. */
typedef void bp_pack_found(const struct bp_pack_entry *entry, void *of);

/* Opens the packed file at `place`, or makes it, and locks it. What a writer that was killed left
 * behind the last whole block is cut off. Errors: the file cannot be made or is another program's
 * to write, or it is damaged, and what is appended could not be read. */
bool bp_pack_output_open(struct bp_pack_output *output, const struct bp_place *place,
	bp_pack_found *found, void *of, struct bp_error *error);

/* Adds the trace that is open at `fd`, with its folded part at `part_fd` (-1: none), to the next
 * block. False, and nothing was added: it cannot be read, is larger than a block, or no memory. */
bool bp_pack_output_add(struct bp_pack_output *output, const char *name, int fd, int part_fd);

/* Writes the block, to the disk itself. False: nothing was written; errno says why. Either way the
 * next block is empty. */
bool bp_pack_output_append(struct bp_pack_output *output);

#endif
