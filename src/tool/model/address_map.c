/* SPDX-License-Identifier: MIT */
/* See address_map.h. Every change is: take the ranges out that it touches, and put other ones in
 * their place. */
#include "model/address_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* The number of the first range, in falling order, that begins below `address`. */
static uint32_t first_below(const struct bp_address_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (map->ranges[middle].start < address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct bp_address_range *bp_address_map_find(
	const struct bp_address_map *map, uint64_t address)
{
	/* (No range holds the last address, which is the end of none.) */
	const uint32_t at = address == UINT64_MAX ? map->count : first_below(map, address + 1);
	return at < map->count && address < map->ranges[at].end ? &map->ranges[at] : NULL;
}

/* Makes room for `added` ranges in the place of `removed` ones from number `at` on. */
static bool make_room(struct bp_address_map *map, uint32_t at, uint32_t removed, uint32_t added)
{
	const uint64_t count = (uint64_t)map->count - removed + added;
	if (!bp_vec_reserve(&map->ranges, &map->capacity, count, sizeof *map->ranges))
		return false;
	const uint32_t behind = map->count - at - removed;
	if (behind > 0)
		memmove(&map->ranges[at + added], &map->ranges[at + removed],
			behind * sizeof *map->ranges);
	map->count = (uint32_t)count;
	return true;
}

/* Divides the range that holds `address`, if one does and does not begin there. */
static bool divide(struct bp_address_map *map, uint64_t address)
{
	const uint32_t at = first_below(map, address);
	if (at == map->count || map->ranges[at].end <= address)
		return true;
	if (!make_room(map, at, 0, 1))
		return false;
	map->ranges[at] = map->ranges[at + 1];
	map->ranges[at].start = address;
	map->ranges[at + 1].end = address;
	return true;
}

/* After this, ranges from `ret_first` on, `ret_count` of them, fill [start, end) as far as it is
 * mapped, and none reaches over its limits. */
static bool cut_out(struct bp_address_map *map, uint64_t start, uint64_t end, uint32_t *ret_first,
	uint32_t *ret_count)
{
	if (!divide(map, start) || !divide(map, end))
		return false;
	*ret_first = first_below(map, end);
	*ret_count = first_below(map, start) - *ret_first;
	return true;
}

static bool tell(const struct bp_address_map *map, const struct bp_address_range *range)
{
	return map->ended == NULL || !range->accessible || map->ended(map->context, range);
}

static bool tell_all(const struct bp_address_map *map, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (!tell(map, &map->ranges[i]))
			return false;
	return true;
}

bool bp_address_map_add(
	struct bp_address_map *map, uint64_t start, uint64_t end, bool accessible, uint32_t origin)
{
	uint32_t first, count;
	if (!cut_out(map, start, end, &first, &count) || !tell_all(map, first, count) ||
		!make_room(map, first, count, 1))
		return false;
	map->ranges[first] = (struct bp_address_range){
		.start = start, .end = end, .origin = origin, .accessible = accessible
	};
	return true;
}

bool bp_address_map_remove(struct bp_address_map *map, uint64_t start, uint64_t end)
{
	uint32_t first, count;
	return cut_out(map, start, end, &first, &count) && tell_all(map, first, count) &&
	       make_room(map, first, count, 0);
}

bool bp_address_map_protect(
	struct bp_address_map *map, uint64_t start, uint64_t end, bool accessible, uint32_t origin)
{
	uint32_t first, count;
	if (!cut_out(map, start, end, &first, &count))
		return false;
	for (uint32_t i = first; i < first + count; i++) {
		struct bp_address_range *range = &map->ranges[i];
		if (range->accessible == accessible)
			continue;
		if (!tell(map, range))
			return false;
		range->accessible = accessible;
		if (accessible)
			range->origin = origin;
	}
	return true;
}

void bp_address_map_finish(struct bp_address_map *map)
{
	free(map->ranges);
	map->ranges = NULL;
	map->count = map->capacity = 0;
}
