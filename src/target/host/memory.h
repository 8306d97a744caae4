/* SPDX-License-Identifier: MIT */
/*
 * A host's own memory: zeroed pieces, cut from mappings. All of them are given back together. Names
 * lie here. Inside half: no malloc. Thread-safe, except bp_host_memory_finish.
 */
#ifndef BP_HOST_MEMORY_H
#define BP_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

/* The most bytes that are mapped for one host's pieces. */
#define BP_HOST_MEMORY_MAX_BYTES ((uint64_t)64 << 20)

/* Zeroed memory is an empty, valid value. */
struct bp_host_memory {
	struct bp_lock lock;
	struct bp_host_block *blocks; /* newest first */
	uint8_t *rest;		      /* of the newest */
	size_t rest_bytes;
	uint64_t bytes; /* mapped so far */
};

/* Returns zeroed memory, aligned to 16 bytes; NULL: there is none. */
void *bp_host_allocate(struct bp_host_memory *memory, size_t bytes);

/* Gives all of it back. */
void bp_host_memory_finish(struct bp_host_memory *memory);

#endif
