/* SPDX-License-Identifier: MIT */
/*
 * Chunks that are freed and still look in use by their headers: those that threads keep in their
 * caches (tcache) and those in fastbins. The lists are followed, and every link is checked: it
 * leads to a chunk of the list's size within the heap. Called by heap_walk.c alone.
 */
#ifndef BP_CLI_MAPPINGS_HEAP_CACHED_H
#define BP_CLI_MAPPINGS_HEAP_CACHED_H

#include "cli/mappings/heap_walk.h"

/* What one list, or several, hold. In `map` each chunk that a list leads to is free from then on,
 * in a list that breaks off, too. */
struct bp_cached_chunks {
	uint64_t chunks, bytes;
	struct bp_chunk_map *map;
};

/* Is an object of the right size the cache of a thread? `changed`: its counts and lists look like
 * those of one, and the lists do not hold what the counts say. */
enum bp_cache_verdict { BP_CACHE_NONE, BP_CACHE_EMPTY, BP_CACHE_FILLED, BP_CACHE_CHANGED };

/* Adds what the cache at `tcache` holds, if it is one. */
enum bp_cache_verdict bp_cached_of_thread(struct bp_page_reader *reader,
	const struct bp_heap_areas *areas, uint64_t tcache, struct bp_cached_chunks *sum);

/* Adds what the fastbins of an arena hold. False: they changed meanwhile, or are none. */
bool bp_cached_in_fastbins(struct bp_page_reader *reader, const struct bp_heap_areas *areas,
	uint64_t arena, struct bp_cached_chunks *sum);

#endif
