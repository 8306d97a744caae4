/* SPDX-License-Identifier: MIT */
/*
 * See heap_cached.h. From glibc 2.32 on a link is stored with the bits of its own address, shifted
 * by 12, turned over in it. Which of the two a link is shows where it leads: within the heap, to an
 * address that is a multiple of 16. The last link of a list is 0, in both forms.
 */
#include "cli/mappings/heap_cached.h"

#include "cli/mappings/heap_layout.h"

/* A list of fastbins has no limit; more than that was followed in a circle. */
#define LIST_MOST 10000000u

static bool is_in_heap(const struct bp_heap_areas *areas, uint64_t address)
{
	for (uint32_t i = 0; i < areas->count; i++)
		if (address >= areas->items[i].start && address < areas->items[i].end)
			return true;
	return false;
}

/* Is there a chunk of this size, with an object at this address? */
static bool is_chunk(struct bp_page_reader *reader, const struct bp_heap_areas *areas,
	uint64_t object, uint64_t bytes)
{
	uint64_t word;
	return object % 16 == 0 && is_in_heap(areas, object) &&
	       bp_page_reader_keep(reader, object - 8, &word) && (word & ~BP_CHUNK_FLAGS) == bytes;
}

/* The object that the link at `place` leads to; 0: the end. False: it leads nowhere. */
static bool follow(struct bp_page_reader *reader, const struct bp_heap_areas *areas, uint64_t place,
	uint64_t *ret_next)
{
	uint64_t link;
	if (!bp_page_reader_keep(reader, place, &link))
		return false;
	const uint64_t plain = link ^ place >> 12;
	if (link == 0 || plain == 0)
		*ret_next = 0;
	else if (plain % 16 == 0 && is_in_heap(areas, plain))
		*ret_next = plain;
	else if (link % 16 == 0 && is_in_heap(areas, link))
		*ret_next = link;
	else
		return false;
	return true;
}

/* Follows a list of objects of chunks of this size. False: it is none. */
static bool add_list(struct bp_page_reader *reader, const struct bp_heap_areas *areas,
	struct bp_chunk_map *map, uint64_t object, uint64_t bytes, uint64_t most,
	uint64_t *ret_count)
{
	uint64_t count = 0;
	while (object != 0) {
		const uint64_t at = object - BP_CHUNK_OBJECT_AT;
		if (count == most || !is_chunk(reader, areas, object, bytes) ||
			!follow(reader, areas, object, &object))
			return false;
		bp_chunk_map_free(map, at);
		count++;
	}
	*ret_count = count;
	return true;
}

/* The counts and the lists of a cache; false: it is none. */
static bool read_cache(struct bp_page_reader *reader, const struct bp_heap_areas *areas,
	uint64_t tcache, uint64_t counts[BP_TCACHE_BINS], uint64_t lists[BP_TCACHE_BINS])
{
	uint64_t four = 0;
	for (unsigned bin = 0; bin < BP_TCACHE_BINS; bin++) {
		if (bin % 4 == 0 && !bp_page_reader_keep(reader, tcache + bin * 2, &four))
			return false;
		counts[bin] = four >> 16 * (bin % 4) & 0xffff;
		if (counts[bin] > BP_TCACHE_COUNT_MOST ||
			!bp_page_reader_keep(
				reader, tcache + BP_TCACHE_LISTS_AT + bin * 8, &lists[bin]) ||
			(counts[bin] == 0) != (lists[bin] == 0) ||
			(lists[bin] != 0 && !is_in_heap(areas, lists[bin])))
			return false;
	}
	return true;
}

enum bp_cache_verdict bp_cached_of_thread(struct bp_page_reader *reader,
	const struct bp_heap_areas *areas, uint64_t tcache, struct bp_cached_chunks *sum)
{
	struct bp_cached_chunks found = { 0 };
	uint64_t counts[BP_TCACHE_BINS], lists[BP_TCACHE_BINS], length;
	bp_page_reader_forget(reader);
	if (!read_cache(reader, areas, tcache, counts, lists))
		return BP_CACHE_NONE;
	for (unsigned bin = 0; bin < BP_TCACHE_BINS; bin++) {
		const uint64_t bytes = BP_CHUNK_LEAST + 16 * (uint64_t)bin;
		if (!add_list(reader, areas, sum->map, lists[bin], bytes, counts[bin], &length) ||
			length != counts[bin])
			return BP_CACHE_CHANGED;
		found.chunks += length;
		found.bytes += length * bytes;
	}
	sum->chunks += found.chunks;
	sum->bytes += found.bytes;
	return found.chunks > 0 ? BP_CACHE_FILLED : BP_CACHE_EMPTY;
}

bool bp_cached_in_fastbins(struct bp_page_reader *reader, const struct bp_heap_areas *areas,
	uint64_t arena, struct bp_cached_chunks *sum)
{
	struct bp_cached_chunks found = { 0 };
	uint64_t chunk, length;
	bp_page_reader_forget(reader);
	for (unsigned bin = 0; bin < BP_ARENA_FASTBINS; bin++) {
		const uint64_t bytes = BP_CHUNK_LEAST + 16 * (uint64_t)bin;
		/* (These lists are of chunks, their links of chunks, too.) */
		if (!bp_page_reader_keep(reader, arena + BP_ARENA_FASTBINS_AT + bin * 8, &chunk))
			return false;
		length = 0;
		while (chunk != 0) {
			const uint64_t object = chunk + BP_CHUNK_OBJECT_AT;
			if (length == LIST_MOST || !is_chunk(reader, areas, object, bytes) ||
				!follow(reader, areas, object, &chunk))
				return false;
			bp_chunk_map_free(sum->map, object - BP_CHUNK_OBJECT_AT);
			length++;
		}
		found.chunks += length;
		found.bytes += length * bytes;
	}
	sum->chunks += found.chunks;
	sum->bytes += found.bytes;
	return true;
}
