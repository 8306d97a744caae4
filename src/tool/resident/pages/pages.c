/* SPDX-License-Identifier: MIT */
/* See pages.h. */
#include "resident/pages/pages.h"

#include <stdlib.h>
#include <string.h>

void bp_pages_finish(struct bp_pages *pages)
{
	free(pages->looked.items);
	free(pages->present.items);
	bp_heap_pages_finish(&pages->heap);
	memset(pages, 0, sizeof *pages);
}

uint64_t bp_pages_at_ns(const struct bp_pages *pages, const struct bp_profile *profile)
{
	const struct bp_process *root = &profile->processes.data[profile->root.i];
	uint64_t end_ns = root->end_time_ns;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid == pages->pid &&
			profile->processes.data[i].end_time_ns > end_ns)
			end_ns = profile->processes.data[i].end_time_ns;
	const uint64_t time_ns = pages->time_ns < end_ns ? pages->time_ns : end_ns;
	return time_ns > root->start_time_ns ? time_ns - root->start_time_ns : 0;
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
