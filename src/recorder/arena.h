/* SPDX-License-Identifier: MIT */
/*
 * The recorder's own memory: zeroed blocks cut from mappings of its own, never given back, bounded.
 * Everything the recorder keeps (tables, stacks, thread blocks, slabs' books) comes from here.
 */
#ifndef BP_RECORDER_ARENA_H
#define BP_RECORDER_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Most that may be cut in all, bytes. */
#define BP_ARENA_MAX_BYTES ((uint64_t)1 << 32)

/* Zeroed memory, aligned to 64 bytes; NULL when there is none. Thread-safe, without a lock, so that a
 * fork needs nothing; not in signal handlers. */
void *bp_arena_allocate(size_t bytes);

/* Bytes mapped so far. */
uint64_t bp_arena_bytes(void);

#endif
