/* SPDX-License-Identifier: MIT */
/*
 * Where the chunks of a heap begin, and which of them are live: two bits for each 16 bytes of each
 * part of the heap, a 64th of its size. The walk of a heap fills it (cli/mappings/heap_walk.h);
 * heap_pages.h makes of it what a recording keeps. Not thread-safe.
 */
#ifndef BP_RESIDENT_PAGES_CHUNK_MAP_H
#define BP_RESIDENT_PAGES_CHUNK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BP_CHUNK_GRAIN_BYTES 16u /* chunks of glibc begin at multiples of it */
/* Larger heaps have no map: 64 MiB would be taken for it. */
#define BP_CHUNK_MAP_BYTES_MAX (UINT64_C(4) << 30)
#define BP_CHUNK_PARTS_MAX 4096u

/* A part of the heap, [start, end). In one that is `alone`, a block mapped by itself, all is one
 * live chunk and there are no bits. */
struct bp_chunk_part {
	uint64_t start, end;
	bool alone;
	uint64_t *begins, *lives; /* a bit for each grain from `start` on; owned */
	size_t words;		  /* so many there are of each */
};

/* Zeroed memory: empty. */
struct bp_chunk_map {
	struct bp_chunk_part *parts;
	uint32_t count, capacity;
	bool failed; /* too large, or no memory: nothing is known */
};

void bp_chunk_map_finish(struct bp_chunk_map *map);

/* Begins a part at `start`, a multiple of 16; what is added afterwards is in it. */
void bp_chunk_map_begin(struct bp_chunk_map *map, uint64_t start);
/* Adds a chunk at or behind the end of the one before. Its size follows from where the next one
 * begins, or the part ends. */
void bp_chunk_map_add(struct bp_chunk_map *map, uint64_t at, bool live);
/* Takes all chunks of the last part that begin at `at` or later out again. */
void bp_chunk_map_return(struct bp_chunk_map *map, uint64_t at);
/* Ends the last part. */
void bp_chunk_map_end(struct bp_chunk_map *map, uint64_t end);
/* A block that was mapped by itself. */
void bp_chunk_map_add_alone(struct bp_chunk_map *map, uint64_t start, uint64_t end);
/* The chunk at `at`, of any part, is free. */
void bp_chunk_map_free(struct bp_chunk_map *map, uint64_t at);

struct bp_chunk {
	uint64_t at, bytes;
	bool live;
};

/* The first chunk of a part at `from` or later. False: there is none. */
bool bp_chunk_map_next(const struct bp_chunk_part *part, uint64_t from, struct bp_chunk *ret_chunk);

#endif
