/* SPDX-License-Identifier: MIT */
/* See pages.h. */
#include "resident/pages.h"

#include <stdlib.h>
#include <string.h>

void bp_pages_finish(struct bp_pages *pages)
{
	free(pages->looked.items);
	free(pages->present.items);
	bp_heap_pages_finish(&pages->heap);
	memset(pages, 0, sizeof *pages);
}

static uint64_t within(const struct bp_page_runs *runs, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;
	for (uint32_t i = bp_page_runs_behind(runs, start); i < runs->count; i++) {
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
