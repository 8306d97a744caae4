/* SPDX-License-Identifier: MIT */
/*
 * Memory for many small pieces that are given back together: pieces lie one behind the other in
 * slabs, which grow as more is taken. Large slabs get their pages from the kernel at once
 * (MADV_POPULATE_WRITE, Linux 5.14; without it, one by one), which takes a third less time there;
 * at most one of them is not full.
 *
 * Zeroed memory is an empty, valid value. Called by packed.h. Thread-safety: a slab belongs to its
 * caller. Not for the inside of a target (it allocates).
 */
#ifndef BP_BASE_SLAB_H
#define BP_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_call.h"

#define BP_SLAB_BYTES_MOST ((size_t)1 << 20)

struct bp_slab_memory {
	struct bp_slab_memory *next;
	uint8_t bytes[];
};

struct bp_slab {
	struct bp_slab_memory *last; /* the one that has room left, and behind it those before */
	size_t bytes, used;	     /* of that one */
};

/* Asks for the whole pages of a piece of memory; what comes of it is not asked. */
static inline void bp_slab_populate(void *memory, size_t bytes)
{
	const uintptr_t from = bp_system_whole_pages((uintptr_t)memory);
	const uintptr_t to = bp_system_page_of((uintptr_t)memory + bytes);
	if (from < to)
		(void)bp_system_advise((void *)from, to - from, BP_ADVICE_POPULATE_WRITE);
}

/* Room for `bytes` bytes, not aligned, with whatever in it; NULL: no memory. */
static inline uint8_t *bp_slab_take(struct bp_slab *slab, size_t bytes)
{
	if (bytes > slab->bytes - slab->used) {
		const size_t grown =
			2 * slab->bytes < BP_SLAB_BYTES_MOST ? 2 * slab->bytes : BP_SLAB_BYTES_MOST;
		const size_t room = bytes > grown ? bytes : grown;
		struct bp_slab_memory *memory =
			(struct bp_slab_memory *)malloc(sizeof *memory + room);
		if (memory == NULL)
			return NULL;
		if (room >= BP_SLAB_BYTES_MOST)
			bp_slab_populate(memory, sizeof *memory + room);
		memory->next = slab->last;
		*slab = (struct bp_slab){ .last = memory, .bytes = room };
	}
	uint8_t *taken = slab->last->bytes + slab->used;
	slab->used += bytes;
	return taken;
}

static inline void bp_slab_finish(struct bp_slab *slab)
{
	while (slab->last != NULL) {
		struct bp_slab_memory *next = slab->last->next;
		free(slab->last);
		slab->last = next;
	}
	memset(slab, 0, sizeof *slab);
}

#endif
