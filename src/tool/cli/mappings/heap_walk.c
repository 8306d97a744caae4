/* SPDX-License-Identifier: MIT */
/*
 * See heap_walk.h. In order:
 *
 *	find_main     main_arena has no name: it is where, in the data of the C library, an address
 *	              in the main heap stands as the top. [system_mem behind it is the size of the
 *	              heap, and the chunk at the top ends where the heap does.]
 *	find_areas    the main heap is the mapping [heap]; heaps of other arenas begin at multiples
 *	              of 64 MiB with a heap_info that names an arena. [The heaps of an arena add up
 *	              to its system_mem.]
 *	walk_area     from chunk to chunk. [A chunk whose neighbour says that it is free has its
 *	              size behind it; two free chunks never stand side by side; the last one is the
 *	              arena's top and ends where the heap does, or is the mark at the end of a full
 *	              heap.]
 *	count_cached  chunks that only look used (heap_cached.h)
 *	find_alone    blocks that malloc mapped by themselves: a page begins with the header of one,
 *	              and memory goes on behind it, where the program may have given other advice
 *	              for huge pages, so that it is another mapping
 *
 * Headers are read one after another while the program runs. What is split or merged behind the
 * walk leaves the sums right: each byte is counted once, as it was when it was read. What changes
 * right under the walk breaks a check; then it goes back to a place that it passed before, and
 * reads anew from there. A walk that does not come through in this way fails, and nothing is known.
 */
#include "cli/mappings/heap_walk.h"

#include <stdlib.h>
#include <string.h>

#include "cli/mappings/heap_cached.h"
#include "cli/mappings/heap_layout.h"
#include "cli/mappings/heap_trimmable.h"

#define CACHES_MAX 65536u
/* Places that the walk can go back to, one for each window; how often it goes back in all; how
 * often the top of the heap, which moves, is looked for; and how often a list of free chunks that
 * changes is followed anew, which takes milliseconds. */
#define PLACES 8u
#define RETURNS_MAX 256u
#define TOP_TRIES 20u
#define LIST_TRIES 2u

/* How far a walk is. */
struct place {
	uint64_t at;
	uint64_t bytes;	  /* of the chunk before; 0: there is none */
	bool free_before; /* is the one before that free? */
	uint32_t cache_count;
	struct bp_heap_walk sums;
};

struct walk {
	struct bp_page_reader *reader;
	const struct bp_smaps *smaps;
	struct bp_heap_areas areas;
	struct bp_heap_walk sums;
	struct bp_chunk_map *map;
	uint64_t main_arena;
	uint64_t *caches; /* objects of the size of a thread's cache */
	uint32_t cache_count;
	bool more_caches; /* than there is room for */
	uint32_t returns;
};

enum step { STEP_ON, STEP_END, STEP_BAD };

void bp_heap_areas_finish(struct bp_heap_areas *areas)
{
	free(areas->items);
	memset(areas, 0, sizeof *areas);
}

static void add_area(struct walk *walk, const struct bp_heap_area *area)
{
	if (walk->areas.count < BP_HEAP_AREAS_MAX)
		walk->areas.items[walk->areas.count++] = *area;
}

static bool peek(struct walk *walk, uint64_t address, uint64_t *ret_word)
{
	return bp_page_reader_peek(walk->reader, address, ret_word);
}

/* ---- the main arena ---- */

/* Could malloc_state stand here, as the main heap's? The heap, its size and its top. */
static bool read_main(
	struct walk *walk, uint64_t arena, uint64_t heap, uint64_t *ret_end, uint64_t *ret_top)
{
	uint64_t top, bytes;
	if (!peek(walk, arena + BP_ARENA_TOP_AT, &top) ||
		!peek(walk, arena + BP_ARENA_SYSTEM_MEM_AT, &bytes) || bytes % BP_PAGE_BYTES != 0 ||
		bytes > BP_MAIN_HEAP_MOST || top < heap || top - heap >= bytes || top % 16 != 0)
		return false;
	*ret_end = heap + bytes;
	*ret_top = top;
	return true;
}

/* It does where the chunk at the top ends with the heap. The top moves while the program allocates,
 * so that one look need not see it. */
static bool is_main(struct walk *walk, uint64_t arena, uint64_t heap)
{
	uint64_t end, top, head;
	for (unsigned i = 0; i < TOP_TRIES && read_main(walk, arena, heap, &end, &top); i++)
		if (peek(walk, top + BP_CHUNK_SIZE_AT, &head) &&
			top + (head & ~BP_CHUNK_FLAGS) == end)
			return true;
	return false;
}

static uint64_t find_main_in(
	struct walk *walk, const struct bp_smap *data, const struct bp_smap *heap)
{
	uint64_t word;
	for (uint64_t at = data->start; at < data->end; at += 8)
		if (bp_page_reader_read(walk->reader, at, &word) && word >= heap->start &&
			word - heap->start < BP_MAIN_HEAP_MOST && word % 16 == 0 &&
			is_main(walk, at - BP_ARENA_TOP_AT, heap->start))
			return at - BP_ARENA_TOP_AT;
	return 0;
}

static bool is_libc(const char *name)
{
	return strstr(name, "/libc.so") != NULL || strstr(name, "/libc-2.") != NULL;
}

/* In the data of the C library, or where there is none in the program's own. */
static bool find_main(struct walk *walk)
{
	const struct bp_smaps *smaps = walk->smaps;
	const char *program = smaps->items[0].name;
	const struct bp_smap *heap = NULL;
	bool has_libc = false;
	walk->main_arena = 0;
	for (uint32_t i = 0; i < smaps->count; i++) {
		has_libc = has_libc || is_libc(smaps->items[i].name);
		if (heap == NULL && strcmp(smaps->items[i].name, "[heap]") == 0)
			heap = &smaps->items[i];
	}
	for (uint32_t i = 0; heap != NULL && walk->main_arena == 0 && i < smaps->count; i++) {
		const struct bp_smap *map = &smaps->items[i];
		if (map->inode != 0 && map->writable && !map->shared &&
			(has_libc ? is_libc(map->name) : strcmp(map->name, program) == 0))
			walk->main_arena = find_main_in(walk, map, heap);
	}
	return walk->main_arena != 0;
}

/* ---- areas ---- */

/* Does a heap of an arena begin at this multiple of 64 MiB? */
static bool read_heap_info(struct bp_page_reader *reader, const struct bp_smap *map, uint64_t start,
	struct bp_heap_area *ret_area, uint64_t *ret_bytes)
{
	uint64_t arena, before, bytes, accessible;
	if (!bp_page_reader_peek(reader, start, &arena) ||
		!bp_page_reader_peek(reader, start + 8, &before) ||
		!bp_page_reader_peek(reader, start + BP_HEAP_SIZE_AT, &bytes) ||
		!bp_page_reader_peek(reader, start + BP_HEAP_ACCESSIBLE_AT, &accessible))
		return false;
	const uint64_t first = arena / BP_HEAP_ALIGNMENT * BP_HEAP_ALIGNMENT;
	if (arena - first < BP_HEAP_INFO_LEAST || arena - first > BP_HEAP_INFO_MOST ||
		before % BP_HEAP_ALIGNMENT != 0 || (before == 0) != (first == start) ||
		bytes % BP_PAGE_BYTES != 0 || bytes == 0 || bytes > accessible ||
		accessible % BP_PAGE_BYTES != 0 || accessible > BP_HEAP_ALIGNMENT ||
		start + accessible > map->end)
		return false;
	*ret_area = (struct bp_heap_area){ start, start + accessible, arena, false };
	*ret_bytes = bytes;
	return true;
}

static void find_areas(struct walk *walk)
{
	walk->areas.count = 0;
	for (uint32_t i = 0; i < walk->smaps->count; i++) {
		const struct bp_smap *map = &walk->smaps->items[i];
		struct bp_heap_area area = { map->start, map->end, 0, false };
		uint64_t bytes;
		/* A fork parts it in two; the walk finds its end by itself. */
		const bool begins = i == 0 || strcmp(map[-1].name, "[heap]") != 0;
		if (strcmp(map->name, "[heap]") == 0 && begins)
			add_area(walk, &area);
		if (!bp_smap_is_anonymous(map))
			continue;
		uint64_t at = (map->start + BP_HEAP_ALIGNMENT - 1) & ~(BP_HEAP_ALIGNMENT - 1);
		for (; at < map->end; at += BP_HEAP_ALIGNMENT)
			if (read_heap_info(walk->reader, map, at, &area, &bytes))
				add_area(walk, &area);
	}
}

/* Where the heap of an area ends now, and its arena's top. */
static bool read_end(
	struct walk *walk, const struct bp_heap_area *area, uint64_t *ret_end, uint64_t *ret_top)
{
	const bool main = area->arena == 0;
	const uint64_t arena = main ? walk->main_arena : area->arena;
	uint64_t bytes, top;
	if (!peek(walk, arena + BP_ARENA_TOP_AT, &top) ||
		!peek(walk, main ? arena + BP_ARENA_SYSTEM_MEM_AT : area->start + BP_HEAP_SIZE_AT,
			&bytes) ||
		bytes % BP_PAGE_BYTES != 0 || bytes > BP_MAIN_HEAP_MOST ||
		(!main && bytes > BP_HEAP_ALIGNMENT))
		return false;
	*ret_end = area->start + bytes;
	*ret_top = top;
	return true;
}

/* ---- chunks ---- */

/* The chunk before this one is free, says this one: is that so? */
static bool is_free_before(struct walk *walk, const struct place *place)
{
	uint64_t said;
	return !place->free_before && place->bytes != 0 &&
	       bp_page_reader_read(walk->reader, place->at, &said) && said == place->bytes;
}

/* Could an object of a chunk of this size be the cache of a thread? It is 16 bytes larger where a
 * free chunk was so much larger that what was left of it would have been too small for a chunk. */
static bool may_be_cache(uint64_t bytes)
{
	return bytes == BP_TCACHE_CHUNK_BYTES || bytes == BP_TCACHE_CHUNK_BYTES + 16;
}

static void add_cache(struct walk *walk, struct place *place, uint64_t object)
{
	if (place->cache_count < CACHES_MAX)
		walk->caches[place->cache_count++] = object;
	else
		walk->more_caches = true;
}

/* What is known of the chunk before, now that this one's header has been read. */
static void count_before(struct walk *walk, struct place *place, bool is_free)
{
	const uint64_t bytes = place->bytes;
	if (bytes != 0)
		bp_chunk_map_add(walk->map, place->at - bytes, !is_free);
	if (bytes != 0 && is_free) {
		place->sums.free_bytes += bytes;
		place->sums.free_chunks++;
	} else if (bytes != 0) {
		place->sums.used_bytes += bytes;
		place->sums.used_chunks++;
		if (may_be_cache(bytes))
			add_cache(walk, place, place->at - bytes + BP_CHUNK_OBJECT_AT);
	}
	place->free_before = is_free;
}

/* The chunk at the place; where it is not the last, on to the next one. */
static enum step step(
	struct walk *walk, const struct bp_heap_area *area, uint64_t *end, struct place *place)
{
	uint64_t head, top;
	if (!bp_page_reader_read(walk->reader, place->at + BP_CHUNK_SIZE_AT, &head))
		return STEP_BAD;
	const uint64_t bytes = head & ~BP_CHUNK_FLAGS;
	const bool is_free = (head & BP_CHUNK_BEFORE_IN_USE) == 0;
	if (head & BP_CHUNK_ALONE || (area->arena == 0 && head & BP_CHUNK_OF_ARENA) ||
		(is_free && !is_free_before(walk, place)))
		return STEP_BAD;
	count_before(walk, place, is_free);
	if (bytes == 16 && *end - place->at == 32 && area->arena != 0) {
		place->sums.other_bytes += 32;
		return STEP_END;
	}
	if (bytes >= *end - place->at) {
		/* The last one, or the heap has grown meanwhile. */
		if (!read_end(walk, area, end, &top) || *end <= place->at)
			return STEP_BAD;
		if (place->at == top && bytes == *end - place->at) {
			place->sums.top_bytes += bytes;
			return STEP_END;
		}
	}
	if (bytes < BP_CHUNK_LEAST || bytes % 16 != 0 || bytes >= *end - place->at)
		return STEP_BAD;
	place->bytes = bytes;
	place->at += bytes;
	return STEP_ON;
}

/* Chunks from `at` on; `end`, where the heap ends, may move meanwhile. */
static bool walk_area(
	struct walk *walk, const struct bp_heap_area *area, uint64_t at, uint64_t *end)
{
	const uint64_t window_bytes = BP_WINDOW_PAGES * (uint64_t)BP_PAGE_BYTES;
	struct place places[PLACES];
	struct place place = { .at = at, .cache_count = walk->cache_count, .sums = walk->sums };
	uint64_t windows = 0, last = UINT64_MAX, furthest = 0, failures = 0;
	bp_chunk_map_begin(walk->map, at);
	for (;;) {
		if (place.at / window_bytes != last && (windows == 0 || place.at > furthest)) {
			last = place.at / window_bytes;
			places[windows++ % PLACES] = place;
		}
		const enum step result = step(walk, area, end, &place);
		if (result == STEP_END)
			break;
		if (result == STEP_ON) {
			if (place.at > furthest) {
				furthest = place.at;
				failures = 0;
			}
			continue;
		}
		/* Back, further from the third time on. */
		const uint64_t back = failures++ / 2;
		if (back >= PLACES || back >= windows || walk->returns++ == RETURNS_MAX)
			return false;
		place = places[(windows - 1 - back) % PLACES];
		bp_chunk_map_return(walk->map, place.at - place.bytes);
		bp_page_reader_forget(walk->reader);
	}
	bp_chunk_map_end(walk->map, place.at);
	walk->sums = place.sums;
	walk->cache_count = place.cache_count;
	return true;
}

static bool walk_main(struct walk *walk, struct bp_heap_area *area)
{
	uint64_t end, top;
	if (!read_end(walk, area, &end, &top) || !walk_area(walk, area, area->start, &end))
		return false;
	area->end = end;
	return true;
}

/* The heaps of this area's arena add up to what the arena says. */
static bool is_whole_arena(struct walk *walk, uint64_t arena)
{
	uint64_t said, bytes, sum = 0;
	for (uint32_t i = 0; i < walk->areas.count; i++)
		if (walk->areas.items[i].arena == arena) {
			if (!peek(walk, walk->areas.items[i].start + BP_HEAP_SIZE_AT, &bytes))
				return false;
			sum += bytes;
		}
	return peek(walk, arena + BP_ARENA_SYSTEM_MEM_AT, &said) && said == sum;
}

static bool walk_arena_heap(struct walk *walk, struct bp_heap_area *area)
{
	uint64_t end, top;
	const uint64_t first = area->arena / BP_HEAP_ALIGNMENT * BP_HEAP_ALIGNMENT;
	bool whole = false;
	for (unsigned i = 0; i < TOP_TRIES && !whole; i++)
		whole = is_whole_arena(walk, area->arena);
	if (!whole || !read_end(walk, area, &end, &top))
		return false;
	uint64_t at = area->start + (area->arena - first);
	if (first == area->start)
		at = (at + BP_ARENA_BYTES + 15) & ~UINT64_C(15);
	walk->sums.other_bytes += at - area->start;
	if (!walk_area(walk, area, at, &end))
		return false;
	if (end > area->end)
		area->end = end;
	/* Accessible and not in use any more: its pages were given back. */
	walk->sums.top_bytes += area->end - end;
	return true;
}

/* ---- chunks that only look used ---- */

static bool count_fastbins(struct walk *walk, uint64_t arena, struct bp_cached_chunks *cached)
{
	for (unsigned i = 0; i < LIST_TRIES; i++)
		if (bp_cached_in_fastbins(walk->reader, &walk->areas, arena, cached))
			return true;
	return false;
}

/* Chunks in fastbins look used, and are free: malloc merges them with their neighbours when it is
 * asked for much, and malloc_trim does. False: some are not known. */
static bool count_all_fastbins(struct walk *walk)
{
	struct bp_cached_chunks fast = { .map = walk->map };
	bool known = count_fastbins(walk, walk->main_arena, &fast);
	for (uint32_t i = 0; i < walk->areas.count; i++) {
		const struct bp_heap_area *area = &walk->areas.items[i];
		if (area->arena / BP_HEAP_ALIGNMENT * BP_HEAP_ALIGNMENT == area->start)
			known = count_fastbins(walk, area->arena, &fast) && known;
	}
	if (fast.bytes > walk->sums.used_bytes || fast.chunks > walk->sums.used_chunks)
		return false;
	walk->sums.free_bytes += fast.bytes;
	walk->sums.free_chunks += fast.chunks;
	walk->sums.used_bytes -= fast.bytes;
	walk->sums.used_chunks -= fast.chunks;
	return known;
}

static enum bp_cache_verdict count_cache(
	struct walk *walk, uint64_t cache, struct bp_cached_chunks *cached)
{
	enum bp_cache_verdict verdict = BP_CACHE_CHANGED;
	for (unsigned i = 0; i < LIST_TRIES && verdict == BP_CACHE_CHANGED; i++)
		verdict = bp_cached_of_thread(walk->reader, &walk->areas, cache, cached);
	return verdict;
}

/* Where a list changes faster than it can be followed, caches are not known. */
static void count_cached(struct walk *walk)
{
	struct bp_cached_chunks cached = { .map = walk->map };
	bool known = count_all_fastbins(walk), found = false;
	walk->sums.trimmable_bytes = bp_heap_trimmable_bytes(walk->reader, walk->map);
	for (uint32_t i = 0; i < walk->cache_count; i++) {
		const enum bp_cache_verdict verdict = count_cache(walk, walk->caches[i], &cached);
		known = known && verdict != BP_CACHE_CHANGED;
		/* The first object of the main heap is the cache of the first thread. */
		found = found || verdict == BP_CACHE_FILLED ||
			(verdict == BP_CACHE_EMPTY && i == 0);
	}
	if (cached.bytes > walk->sums.used_bytes || cached.chunks > walk->sums.used_chunks)
		return;
	walk->sums.cached_known = known && found && !walk->more_caches;
	walk->sums.cached_bytes = cached.bytes;
	walk->sums.cached_chunks = cached.chunks;
	walk->sums.used_bytes -= cached.bytes;
	walk->sums.used_chunks -= cached.chunks;
}

static bool walk_all(struct walk *walk)
{
	bp_page_reader_forget(walk->reader);
	if (!find_main(walk))
		return false;
	find_areas(walk);
	for (uint32_t i = 0; i < walk->areas.count; i++) {
		struct bp_heap_area *area = &walk->areas.items[i];
		if (area->arena == 0 ? !walk_main(walk, area) : !walk_arena_heap(walk, area))
			return false;
		walk->sums.area_bytes += area->end - area->start;
	}
	bp_page_reader_forget(walk->reader);
	count_cached(walk);
	walk->sums.areas = walk->areas.count;
	return true;
}

/* ---- blocks mapped alone ---- */

uint64_t bp_heap_bytes(struct bp_page_reader *reader, const struct bp_smaps *smaps)
{
	uint64_t sum = 0, bytes;
	for (uint32_t i = 0; i < smaps->count; i++) {
		const struct bp_smap *map = &smaps->items[i];
		struct bp_heap_area area;
		if (strcmp(map->name, "[heap]") == 0)
			sum += map->end - map->start;
		if (!bp_smap_is_anonymous(map))
			continue;
		uint64_t at = (map->start + BP_HEAP_ALIGNMENT - 1) & ~(BP_HEAP_ALIGNMENT - 1);
		for (; at < map->end; at += BP_HEAP_ALIGNMENT)
			if (read_heap_info(reader, map, at, &area, &bytes))
				sum += area.end - area.start;
	}
	return sum;
}

static bool may_have_blocks(const struct bp_smap *map)
{
	return bp_smap_is_anonymous(map) && !map->no_huge;
}

/* A block that was mapped alone begins at this page: its size; 0: none does. */
static uint64_t block_alone(struct bp_page_reader *reader, uint64_t at, uint64_t end)
{
	uint64_t words[2];
	if (!bp_page_reader_first(reader, at, words))
		return 0;
	const uint64_t bytes = words[1] & ~BP_CHUNK_FLAGS;
	return words[0] == 0 && (words[1] & BP_CHUNK_FLAGS) == BP_CHUNK_ALONE && bytes != 0 &&
			       bytes % BP_PAGE_BYTES == 0 && bytes <= end - at
		       ? bytes
		       : 0;
}

/* The end of the one of the first `count` areas that this page is in; 0: it is in none, nor is
 * another one before `*ret_clear_to`. */
static uint64_t end_of_area(
	const struct bp_heap_areas *areas, uint32_t count, uint64_t at, uint64_t *ret_clear_to)
{
	*ret_clear_to = UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_heap_area *area = &areas->items[i];
		if (at >= area->start && at < area->end)
			return area->end;
		if (area->start > at && area->start < *ret_clear_to)
			*ret_clear_to = area->start;
	}
	return 0;
}

/* Memory of the program's from a mapping on, without a gap: its end. */
static uint64_t end_of_run(const struct bp_smaps *smaps, uint32_t first)
{
	uint32_t last = first;
	while (last + 1 < smaps->count && smaps->items[last + 1].start == smaps->items[last].end &&
		may_have_blocks(&smaps->items[last + 1]))
		last++;
	return smaps->items[last].end;
}

static bool add_alone(struct bp_heap_walk *walk, struct bp_heap_areas *areas,
	struct bp_chunk_map *chunks, uint64_t at, uint64_t bytes)
{
	if (areas->count == BP_HEAP_AREAS_MAX)
		return false;
	areas->items[areas->count++] = (struct bp_heap_area){ at, at + bytes, 0, true };
	bp_chunk_map_add_alone(chunks, at, at + bytes);
	walk->area_bytes += bytes;
	walk->used_bytes += bytes;
	walk->used_chunks++;
	walk->areas++;
	return true;
}

bool bp_heap_find_alone(struct bp_page_reader *reader, const struct bp_smaps *smaps,
	struct bp_heap_walk *walk, struct bp_heap_areas *areas, struct bp_chunk_map *chunks)
{
	const uint32_t heaps = areas->count;
	uint64_t at = 0, clear_to = 0, end = 0; /* of the run that the mapping is in */
	bp_page_reader_forget(reader);
	for (uint32_t i = 0; i < smaps->count; i++) {
		const struct bp_smap *map = &smaps->items[i];
		if (!may_have_blocks(map))
			continue;
		if (map->start >= end)
			end = end_of_run(smaps, i);
		if (map->resident_bytes == 0)
			continue;
		at = at > map->start ? at : map->start;
		while (at < map->end) {
			const uint64_t heap_end =
				at < clear_to ? 0 : end_of_area(areas, heaps, at, &clear_to);
			const uint64_t bytes = heap_end != 0 ? 0 : block_alone(reader, at, end);
			if (bytes != 0 && !add_alone(walk, areas, chunks, at, bytes))
				return false;
			at = heap_end != 0 ? heap_end : at + (bytes != 0 ? bytes : BP_PAGE_BYTES);
		}
	}
	return !bp_page_reader_is_late(reader);
}

/* ---- all of it ---- */

bool bp_heap_walk(struct bp_page_reader *reader, const struct bp_smaps *smaps,
	struct bp_heap_walk *ret_walk, struct bp_heap_areas *ret_areas,
	struct bp_chunk_map *ret_map)
{
	struct bp_chunk_map map = { 0 };
	struct walk walk = { .reader = reader, .smaps = smaps, .map = &map };
	walk.areas.items = malloc(BP_HEAP_AREAS_MAX * sizeof *walk.areas.items);
	walk.caches = malloc(CACHES_MAX * sizeof *walk.caches);
	const bool known = walk.areas.items != NULL && walk.caches != NULL && walk_all(&walk);
	free(walk.caches);
	if (!known) {
		free(walk.areas.items);
		bp_chunk_map_finish(&map);
		return false;
	}
	walk.sums.known = true;
	walk.sums.tries = walk.returns + 1;
	*ret_walk = walk.sums;
	*ret_areas = walk.areas;
	*ret_map = map;
	return true;
}
