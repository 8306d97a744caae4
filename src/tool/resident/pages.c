/* SPDX-License-Identifier: MIT */
/* See pages.h. Look-ups are binary searches. */
#include "resident/pages.h"

#include <stdlib.h>
#include <string.h>

void bp_pages_finish(struct bp_pages *pages)
{
	free(pages->looked.items);
	free(pages->present.items);
	memset(pages, 0, sizeof *pages);
}

bool bp_page_runs_add(struct bp_page_runs *runs, uint64_t start, uint64_t end)
{
	struct bp_page_run *last = runs->count > 0 ? &runs->items[runs->count - 1] : NULL;
	if (last != NULL && start < last->end)
		return false;
	if (last != NULL && start == last->end) {
		last->end = end;
		return true;
	}
	if (runs->count == runs->capacity) {
		const uint32_t capacity = runs->capacity == 0 ? 64 : runs->capacity * 2;
		struct bp_page_run *items =
			capacity > BP_PAGE_RUNS_MAX
				? NULL
				: realloc(runs->items, capacity * sizeof *runs->items);
		if (items == NULL)
			return false;
		runs->items = items;
		runs->capacity = capacity;
	}
	runs->items[runs->count++] = (struct bp_page_run){ start, end };
	return true;
}

/* The first run that ends behind an address. */
static uint32_t first_behind(const struct bp_page_runs *runs, uint64_t address)
{
	uint32_t low = 0, high = runs->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (runs->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t within(const struct bp_page_runs *runs, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;
	for (uint32_t i = first_behind(runs, start); i < runs->count; i++) {
		const struct bp_page_run *run = &runs->items[i];
		if (run->start >= end)
			break;
		bytes += (run->end < end ? run->end : end) -
			 (run->start > start ? run->start : start);
	}
	return bytes;
}

bool bp_pages_absent(
	const struct bp_pages *pages, uint64_t address, uint64_t bytes, uint64_t *ret_absent)
{
	if (bytes > UINT64_MAX - address ||
		within(&pages->looked, address, address + bytes) != bytes)
		return false;
	*ret_absent = bytes - within(&pages->present, address, address + bytes);
	return true;
}
