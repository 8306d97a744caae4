/* SPDX-License-Identifier: MIT */
/*
 * Two passes over the chunks: the first counts for each page the live ones that touch it, the
 * second shares pages by these counts, for the classes of ratios. A chunk touches the pages of its
 * bytes, its header included, since a page with a header alone cannot be given back either.
 */
#include "resident/pages/heap_pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MOST (BP_HEAP_PAGE_ABSENT - 1u)
#define BLOCK_BYTES (BP_HEAP_BLOCK_PAGES * (uint64_t)BP_HEAP_PAGE_BYTES)
#define CHUNK_LEAST 32u
/* A chunk has up to 8 bytes of header and 15 of alignment beyond its object, and 16 that were too
 * few to become a chunk of their own; one that was mapped alone, up to a page and two headers. */
#define SLACK_BYTES 39u
#define SLACK_BYTES_ALONE 4112u

void bp_heap_pages_finish(struct bp_heap_pages *pages)
{
	free(pages->parts);
	free(pages->chunks);
	free(pages->live_bytes);
	memset(pages, 0, sizeof *pages);
}

uint64_t bp_chunk_trials_least(uint64_t chunk_bytes, bool alone)
{
	const uint64_t slack = alone ? SLACK_BYTES_ALONE : SLACK_BYTES;
	return chunk_bytes > slack && chunk_bytes > CHUNK_LEAST ? chunk_bytes - slack + 1 : 1;
}

static bool grow_blocks(struct bp_heap_pages *pages, uint32_t count)
{
	const size_t page_count = (size_t)count * BP_HEAP_BLOCK_PAGES;
	uint8_t *chunks = realloc(pages->chunks, page_count);
	if (chunks == NULL)
		return false;
	pages->chunks = chunks;
	uint32_t *live = realloc(pages->live_bytes, count * sizeof *live);
	if (live == NULL)
		return false;
	pages->live_bytes = live;
	const size_t old = (size_t)pages->block_count * BP_HEAP_BLOCK_PAGES;
	memset(chunks + old, BP_HEAP_PAGE_ABSENT, page_count - old);
	memset(live + pages->block_count, 0, (count - pages->block_count) * sizeof *live);
	pages->block_count = count;
	return true;
}

bool bp_heap_pages_add_part(struct bp_heap_pages *pages, uint64_t start, uint64_t end, bool alone)
{
	const uint32_t number = pages->part_count;
	if (start % BP_HEAP_PAGE_BYTES != 0 || end % BP_HEAP_PAGE_BYTES != 0 || start >= end ||
		number == BP_CHUNK_PARTS_MAX || end - start > BP_CHUNK_MAP_BYTES_MAX ||
		(number > 0 && start < pages->parts[number - 1].end))
		return false;
	const uint64_t blocks = (end - start + BLOCK_BYTES - 1) / BLOCK_BYTES;
	const uint32_t first = pages->block_count;
	if (blocks > BP_HEAP_BLOCKS_MAX - first)
		return false;
	struct bp_heap_part *parts = realloc(pages->parts, (number + 1) * sizeof *parts);
	if (parts == NULL)
		return false;
	pages->parts = parts;
	if (!grow_blocks(pages, first + (uint32_t)blocks))
		return false;
	parts[pages->part_count++] = (struct bp_heap_part){ start, end, alone, first };
	return true;
}

const struct bp_heap_part *bp_heap_pages_part(const struct bp_heap_pages *pages, uint64_t address)
{
	uint32_t low = 0, high = pages->part_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (pages->parts[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pages->part_count && pages->parts[low].start <= address ? &pages->parts[low]
									     : NULL;
}

/* The number of the page that an address of a part is on. */
static size_t page_of(const struct bp_heap_part *part, uint64_t address)
{
	return (size_t)part->first_block * BP_HEAP_BLOCK_PAGES +
	       (size_t)((address - part->start) / BP_HEAP_PAGE_BYTES);
}

static void mark_present(struct bp_heap_pages *pages, const struct bp_page_runs *present)
{
	for (uint32_t i = 0; i < pages->part_count; i++) {
		const struct bp_heap_part *part = &pages->parts[i];
		uint32_t run = bp_page_runs_behind(present, part->start);
		for (; run < present->count && present->items[run].start < part->end; run++) {
			const struct bp_page_run *item = &present->items[run];
			const uint64_t start =
				item->start > part->start ? item->start : part->start;
			const uint64_t end = item->end < part->end ? item->end : part->end;
			memset(pages->chunks + page_of(part, start), 0,
				(size_t)((end - start) / BP_HEAP_PAGE_BYTES));
		}
	}
}

static void count_chunk(
	struct bp_heap_pages *pages, const struct bp_heap_part *part, const struct bp_chunk *chunk)
{
	const uint64_t end = chunk->at + chunk->bytes;
	for (uint64_t at = chunk->at; at < end;) {
		const uint64_t next = (at / BP_HEAP_PAGE_BYTES + 1) * BP_HEAP_PAGE_BYTES;
		const size_t page = page_of(part, at);
		uint8_t *count = &pages->chunks[page];
		if (*count != BP_HEAP_PAGE_ABSENT) {
			*count = *count < CHUNKS_MOST ? (uint8_t)(*count + 1) : CHUNKS_MOST;
			pages->live_bytes[page / BP_HEAP_BLOCK_PAGES] +=
				(uint32_t)((next < end ? next : end) - at);
		}
		at = next;
	}
}

static struct bp_chunk_pages pages_of(const struct bp_heap_pages *pages,
	const struct bp_heap_part *part, uint64_t start, uint64_t end)
{
	struct bp_chunk_pages sums = { 0 };
	for (size_t page = page_of(part, start); page <= page_of(part, end - 1); page++) {
		const uint8_t count = pages->chunks[page];
		if (count == BP_HEAP_PAGE_ABSENT)
			continue;
		sums.touched += BP_HEAP_PAGE_BYTES;
		sums.sole += count <= 1 ? BP_HEAP_PAGE_BYTES : 0;
		sums.kept += (double)BP_HEAP_PAGE_BYTES / (count > 1 ? count : 1);
	}
	return sums;
}

static void add_to_class(struct bp_ratio_classes *classes, double bytes, uint64_t trials)
{
	if (!(bytes > 0))
		return;
	const double class = ceil(8 * log2(bytes / (double)trials)) + BP_RATIO_CLASS_OF_ONE;
	const double clipped = fmin(fmax(class, 0), BP_RATIO_CLASSES - 1);
	classes->bytes[(size_t)clipped] += (uint64_t)ceil(bytes);
}

/* Calls for all live chunks; in the second pass shares are known. */
static void pass(struct bp_heap_pages *pages, const struct bp_chunk_map *map, bool second)
{
	struct bp_chunk chunk;
	for (uint32_t i = 0; i < map->count; i++) {
		const struct bp_chunk_part *from = &map->parts[i];
		const struct bp_heap_part *part = bp_heap_pages_part(pages, from->start);
		for (uint64_t at = from->start; part != NULL && bp_chunk_map_next(from, at, &chunk);
			at = chunk.at + chunk.bytes) {
			if (!chunk.live || chunk.bytes == 0)
				continue;
			if (!second) {
				count_chunk(pages, part, &chunk);
				continue;
			}
			const struct bp_chunk_pages its =
				pages_of(pages, part, chunk.at, chunk.at + chunk.bytes);
			const uint64_t trials = bp_chunk_trials_least(chunk.bytes, from->alone);
			add_to_class(&pages->kept, its.kept, trials);
			add_to_class(&pages->touched, (double)its.touched, trials);
		}
	}
}

static int compare(const void *a, const void *b)
{
	const struct bp_heap_part *left = a, *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

static bool add_parts(struct bp_heap_pages *pages, const struct bp_chunk_map *map)
{
	struct bp_heap_part *parts = calloc(map->count, sizeof *parts);
	uint32_t count = 0;
	bool good = parts != NULL;
	for (uint32_t i = 0; good && i < map->count; i++) {
		const struct bp_chunk_part *from = &map->parts[i];
		const uint64_t page = BP_HEAP_PAGE_BYTES;
		if (from->end > from->start)
			parts[count++] = (struct bp_heap_part){ from->start / page * page,
				(from->end + page - 1) / page * page, from->alone, 0 };
	}
	if (good && count > 0)
		qsort(parts, count, sizeof *parts, compare);
	for (uint32_t i = 0; good && i < count; i++)
		good = bp_heap_pages_add_part(pages, parts[i].start, parts[i].end, parts[i].alone);
	free(parts);
	return good && count > 0;
}

bool bp_heap_pages_make(const struct bp_chunk_map *map, const struct bp_page_runs *present,
	struct bp_heap_pages *ret_pages)
{
	struct bp_heap_pages pages = { .known = true };
	if (map->failed || map->count == 0 || !add_parts(&pages, map)) {
		bp_heap_pages_finish(&pages);
		return false;
	}
	mark_present(&pages, present);
	pass(&pages, map, false);
	pass(&pages, map, true);
	*ret_pages = pages;
	return true;
}

struct bp_heap_page_sums bp_heap_pages_sum(const struct bp_heap_pages *pages)
{
	struct bp_heap_page_sums sums = { 0 };
	for (uint32_t block = 0; block < pages->block_count; block++) {
		sums.live += pages->live_bytes[block];
		for (uint32_t i = 0; i < BP_HEAP_BLOCK_PAGES; i++) {
			const uint8_t count =
				pages->chunks[(size_t)block * BP_HEAP_BLOCK_PAGES + i];
			if (count == BP_HEAP_PAGE_ABSENT)
				continue;
			sums.resident += BP_HEAP_PAGE_BYTES;
			sums.held += count > 0 ? BP_HEAP_PAGE_BYTES : 0;
			sums.sole += count == 1 ? BP_HEAP_PAGE_BYTES : 0;
		}
	}
	/* (What a file says need not agree.) */
	sums.beside = sums.held > sums.live ? sums.held - sums.live : 0;
	return sums;
}

bool bp_heap_pages_of_chunk(const struct bp_heap_pages *pages, uint64_t at, uint64_t bytes,
	struct bp_chunk_pages *ret_pages)
{
	const struct bp_heap_part *part = bp_heap_pages_part(pages, at);
	if (part == NULL || bytes == 0 || bytes > part->end - at)
		return false;
	*ret_pages = pages_of(pages, part, at, at + bytes);
	return true;
}

double bp_ratio_classes_unit(const struct bp_ratio_classes *classes, double lambda, double error)
{
	double before = 0, sum = 0;
	for (unsigned i = BP_RATIO_CLASSES; i-- > 0;) {
		const double slope = exp2(((double)i - BP_RATIO_CLASS_OF_ONE) / 8);
		const double after = before + (double)classes->bytes[i] / slope;
		sum += slope / lambda * (exp(-lambda * before) - exp(-lambda * after));
		before = after;
	}
	return fmax(1.1, 1 / (1 - error)) * sum;
}
