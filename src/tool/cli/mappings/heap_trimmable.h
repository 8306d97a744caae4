/* SPDX-License-Identifier: MIT */
/*
 * What malloc_trim would give back of a heap of glibc's, by the map of its chunks. Called by
 * heap_walk.c, before the chunks in caches of threads are marked as free: these stay as they are.
 */
#ifndef BP_CLI_MAPPINGS_HEAP_TRIMMABLE_H
#define BP_CLI_MAPPINGS_HEAP_TRIMMABLE_H

#include "cli/mappings/page_reader.h"
#include "resident/pages/chunk_map.h"

/* The bytes of whole pages of free chunks, neighbours merged, behind their links, that are
 * resident; 0 of a map that failed. The first part of the map is that of the main heap. */
uint64_t bp_heap_trimmable_bytes(struct bp_page_reader *reader, const struct bp_chunk_map *map);

#endif
