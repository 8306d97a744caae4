/* SPDX-License-Identifier: MIT */
/* See page_runs.h. Look-ups are binary searches. */
#include "resident/pages/page_runs.h"

#include <stdlib.h>

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

uint32_t bp_page_runs_behind(const struct bp_page_runs *runs, uint64_t address)
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
