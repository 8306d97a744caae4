/* SPDX-License-Identifier: MIT */
/* See chunk_map.h. The words of a part grow with its chunks, since a heap may grow under a walk. */
#include "resident/pages/chunk_map.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

void bp_chunk_map_finish(struct bp_chunk_map *map)
{
	for (uint32_t i = 0; i < map->count; i++) {
		free(map->parts[i].begins);
		free(map->parts[i].lives);
	}
	free(map->parts);
	memset(map, 0, sizeof *map);
}

static struct bp_chunk_part *last_part(struct bp_chunk_map *map)
{
	return map->failed || map->count == 0 ? NULL : &map->parts[map->count - 1];
}

static struct bp_chunk_part *add_part(struct bp_chunk_map *map, uint64_t start)
{
	if (map->count == map->capacity) {
		const uint32_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
		struct bp_chunk_part *parts =
			capacity > BP_CHUNK_PARTS_MAX
				? NULL
				: realloc(map->parts, capacity * sizeof *map->parts);
		if (parts == NULL) {
			map->failed = true;
			return NULL;
		}
		map->parts = parts;
		map->capacity = capacity;
	}
	struct bp_chunk_part *part = &map->parts[map->count++];
	*part = (struct bp_chunk_part){ .start = start, .end = start };
	return part;
}

void bp_chunk_map_begin(struct bp_chunk_map *map, uint64_t start)
{
	if (!map->failed)
		add_part(map, start);
}

void bp_chunk_map_add_alone(struct bp_chunk_map *map, uint64_t start, uint64_t end)
{
	struct bp_chunk_part *part = map->failed ? NULL : add_part(map, start);
	if (part != NULL) {
		part->end = end;
		part->alone = true;
	}
}

/* Words of `bits` grown to `words`, those that are new zeroed. False: no memory. */
static bool grow(uint64_t **bits, size_t old, size_t words)
{
	uint64_t *grown = realloc(*bits, words * sizeof **bits);
	if (grown == NULL)
		return false;
	memset(grown + old, 0, (words - old) * sizeof *grown);
	*bits = grown;
	return true;
}

static bool has_room(struct bp_chunk_part *part, uint64_t grain)
{
	const size_t needed = (size_t)(grain / WORD_BITS + 1);
	if (needed <= part->words)
		return true;
	const size_t words = needed > 2 * part->words ? needed : 2 * part->words;
	if (!grow(&part->begins, part->words, words) || !grow(&part->lives, part->words, words))
		return false;
	part->words = words;
	return true;
}

static void set(uint64_t *bits, uint64_t grain)
{
	bits[grain / WORD_BITS] |= UINT64_C(1) << grain % WORD_BITS;
}

static bool is_set(const uint64_t *bits, uint64_t grain)
{
	return (bits[grain / WORD_BITS] >> grain % WORD_BITS & 1) != 0;
}

void bp_chunk_map_add(struct bp_chunk_map *map, uint64_t at, bool live)
{
	struct bp_chunk_part *part = last_part(map);
	if (part == NULL)
		return;
	const uint64_t grain = (at - part->start) / BP_CHUNK_GRAIN_BYTES;
	if (at < part->start || at - part->start > BP_CHUNK_MAP_BYTES_MAX ||
		!has_room(part, grain)) {
		map->failed = true;
		return;
	}
	set(part->begins, grain);
	if (live)
		set(part->lives, grain);
}

void bp_chunk_map_return(struct bp_chunk_map *map, uint64_t at)
{
	struct bp_chunk_part *part = last_part(map);
	if (part == NULL || at < part->start)
		return;
	const uint64_t grain = (at - part->start) / BP_CHUNK_GRAIN_BYTES;
	const size_t word = (size_t)(grain / WORD_BITS);
	if (word >= part->words)
		return;
	const uint64_t below = (UINT64_C(1) << grain % WORD_BITS) - 1;
	part->begins[word] &= below;
	part->lives[word] &= below;
	const size_t behind = (part->words - word - 1) * sizeof *part->begins;
	memset(part->begins + word + 1, 0, behind);
	memset(part->lives + word + 1, 0, behind);
}

void bp_chunk_map_end(struct bp_chunk_map *map, uint64_t end)
{
	struct bp_chunk_part *part = last_part(map);
	if (part != NULL && end >= part->start)
		part->end = end;
}

void bp_chunk_map_free(struct bp_chunk_map *map, uint64_t at)
{
	for (uint32_t i = 0; i < map->count; i++) {
		struct bp_chunk_part *part = &map->parts[i];
		if (part->alone || at < part->start || at >= part->end)
			continue;
		const uint64_t grain = (at - part->start) / BP_CHUNK_GRAIN_BYTES;
		if (grain / WORD_BITS < part->words)
			part->lives[grain / WORD_BITS] &= ~(UINT64_C(1) << grain % WORD_BITS);
	}
}

/* The first bit that is set from `grain` on; UINT64_MAX: there is none. */
static uint64_t next_set(const struct bp_chunk_part *part, uint64_t grain)
{
	size_t word = (size_t)(grain / WORD_BITS);
	if (word >= part->words)
		return UINT64_MAX;
	uint64_t bits = part->begins[word] & ~UINT64_C(0) << grain % WORD_BITS;
	while (bits == 0)
		if (++word == part->words)
			return UINT64_MAX;
		else
			bits = part->begins[word];
	return word * UINT64_C(64) + (uint64_t)__builtin_ctzll(bits);
}

bool bp_chunk_map_next(const struct bp_chunk_part *part, uint64_t from, struct bp_chunk *ret_chunk)
{
	if (part->alone) {
		*ret_chunk = (struct bp_chunk){ part->start, part->end - part->start, true };
		return from <= part->start;
	}
	const uint64_t offset = from > part->start ? from - part->start : 0;
	const uint64_t grain =
		next_set(part, (offset + BP_CHUNK_GRAIN_BYTES - 1) / BP_CHUNK_GRAIN_BYTES);
	const uint64_t at = part->start + grain * BP_CHUNK_GRAIN_BYTES;
	if (grain == UINT64_MAX || at >= part->end)
		return false;
	const uint64_t next = next_set(part, grain + 1);
	const uint64_t behind = part->start + next * BP_CHUNK_GRAIN_BYTES;
	const uint64_t end = next == UINT64_MAX || behind > part->end ? part->end : behind;
	*ret_chunk = (struct bp_chunk){ at, end - at, is_set(part->lives, grain) };
	return true;
}
