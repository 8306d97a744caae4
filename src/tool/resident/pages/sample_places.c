/* SPDX-License-Identifier: MIT */
/* See sample_places.h. By process and sequence, which a binary search looks for. */
#include "resident/pages/sample_places.h"

#include <stdlib.h>
#include <string.h>

void bp_sample_places_finish(struct bp_sample_places *places)
{
	free(places->items);
	memset(places, 0, sizeof *places);
}

bool bp_sample_places_add(
	struct bp_sample_places *places, uint32_t process, uint64_t sequence, uint64_t address)
{
	if (places->count == places->capacity) {
		const uint32_t capacity = places->capacity == 0 ? 1024 : places->capacity * 2;
		struct bp_sample_place *items =
			realloc(places->items, capacity * sizeof *places->items);
		if (items == NULL)
			return false;
		places->items = items;
		places->capacity = capacity;
	}
	places->items[places->count++] = (struct bp_sample_place){ sequence, address, process };
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct bp_sample_place *left = a, *right = b;
	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

void bp_sample_places_sort(struct bp_sample_places *places)
{
	if (places->count > 0)
		qsort(places->items, places->count, sizeof *places->items, compare);
}

const struct bp_sample_place *bp_sample_places_find(
	const struct bp_sample_places *places, const struct bp_sample *sample)
{
	const struct bp_sample_place wanted = { sample->sequence, 0, sample->process.i };
	if (sample->more > 0 || places->count == 0)
		return NULL;
	return bsearch(&wanted, places->items, places->count, sizeof wanted, compare);
}
