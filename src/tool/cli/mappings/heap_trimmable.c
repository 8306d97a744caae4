/* SPDX-License-Identifier: MIT */
/*
 * See heap_trimmable.h. malloc_trim merges what lies in fastbins with the free chunks beside it,
 * and gives back the whole pages of each chunk in a bin (mtrim in glibc's malloc/malloc.c). What
 * stands before the top becomes part of that, of which it gives back only the main heap's.
 */
#include "cli/mappings/heap_trimmable.h"

#include "cli/mappings/heap_layout.h"

static uint64_t of_chunk(struct bp_page_reader *reader, uint64_t at, uint64_t bytes)
{
	const uint64_t first =
		(at + BP_CHUNK_LINKS_END + BP_PAGE_BYTES - 1) & ~(uint64_t)(BP_PAGE_BYTES - 1);
	const uint64_t end = (at + bytes) & ~(uint64_t)(BP_PAGE_BYTES - 1);
	uint64_t present = 0, swapped;
	if (first >= end || !bp_page_reader_count(reader, first, end, &present, &swapped))
		return 0;
	return present;
}

static uint64_t of_part(
	struct bp_page_reader *reader, const struct bp_chunk_part *part, bool is_main)
{
	uint64_t sum = 0,
		 run = 0; /* where the free chunks before this one begin; 0: there are none */
	struct bp_chunk chunk;
	for (uint64_t from = part->start; bp_chunk_map_next(part, from, &chunk);
		from = chunk.at + chunk.bytes) {
		if (chunk.live && run != 0)
			sum += of_chunk(reader, run, chunk.at - run);
		if (chunk.live)
			run = 0;
		else if (run == 0)
			run = chunk.at;
	}
	if (run != 0 && is_main)
		sum += of_chunk(reader, run, part->end - run);
	return sum;
}

uint64_t bp_heap_trimmable_bytes(struct bp_page_reader *reader, const struct bp_chunk_map *map)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; !map->failed && i < map->count; i++)
		sum += of_part(reader, &map->parts[i], i == 0);
	return sum;
}
