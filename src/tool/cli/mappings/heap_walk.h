/* SPDX-License-Identifier: MIT */
/*
 * A walk of glibc's heap from outside: all chunks of the main heap and of the arenas, by the sizes
 * that stand before them, while the process runs. What a walk finds is checked against what glibc
 * itself keeps (the arena's top and its system_mem, the sizes of free chunks behind them); where
 * one check fails, because the program changed the heap meanwhile or because this is another
 * allocator or another glibc, nothing is known, rather than something wrong.
 *
 * Known: glibc 2.26 to 2.41 on x86-64, by layout; each walk checks that it is so. Called by look.c.
 */
#ifndef BP_CLI_MAPPINGS_HEAP_WALK_H
#define BP_CLI_MAPPINGS_HEAP_WALK_H

#include "cli/mappings/page_reader.h"
#include "cli/mappings/smaps.h"
#include "resident/pages/chunk_map.h"
#include "resident/mappings.h"

/* A piece of address space that belongs to the heap. */
struct bp_heap_area {
	uint64_t start, end; /* whole pages */
	uint64_t arena;	     /* its malloc_state; of the main heap 0 */
	bool alone;	     /* a block that was mapped by itself */
};

#define BP_HEAP_AREAS_MAX 4096u

struct bp_heap_areas {
	struct bp_heap_area *items;
	uint32_t count;
};

/* Walks once. False: this is no heap of glibc, or not of a version that is known, or it changed
 * under the walk; then nothing is filled. `ret_map`: the chunks; it may have failed by itself. */
bool bp_heap_walk(struct bp_page_reader *reader, const struct bp_smaps *smaps,
	struct bp_heap_walk *ret_walk, struct bp_heap_areas *ret_areas,
	struct bp_chunk_map *ret_map);
/* How much address space heaps of glibc take by these mappings, blocks mapped alone left out: to
 * see whether a walk is of the same heaps. */
uint64_t bp_heap_bytes(struct bp_page_reader *reader, const struct bp_smaps *smaps);

/* Adds the blocks that malloc mapped by themselves, of mappings that may be later ones. False: the
 * reader's time was over before all was looked at, or there are too many. */
bool bp_heap_find_alone(struct bp_page_reader *reader, const struct bp_smaps *smaps,
	struct bp_heap_walk *walk, struct bp_heap_areas *areas, struct bp_chunk_map *chunks);
void bp_heap_areas_finish(struct bp_heap_areas *areas);

#endif
