/* SPDX-License-Identifier: MIT */
/*
 * The recorder's own memory: zeroed pieces, cut from mappings of the recorder's own. Pieces are
 * never given back, and their sum is bounded. Everything the recorder keeps (tables, stacks, thread
 * blocks, the books of slabs) comes from here.
 */
#ifndef BP_TABLES_ARENA_H
#define BP_TABLES_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* The most bytes that all pieces together may have. */
#define BP_ARENA_MAX_BYTES ((uint64_t)1 << 32)

/* Returns zeroed memory, aligned to 64 bytes; NULL when there is none. Thread-safe; it takes no
 * lock, so that nothing has to be done around a fork. Not in signal handlers. */
void *bp_arena_allocate(size_t bytes);

/* Bytes mapped so far. */
uint64_t bp_arena_bytes(void);

#endif
