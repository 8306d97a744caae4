/* SPDX-License-Identifier: MIT */
/*
 * A natural merge sort of moments: ascending runs are merged pairwise between two arrays until one
 * run is left. See sample_order.h.
 */
#include "model/sample_order.h"

#include <stdlib.h>
#include <string.h>

/* End of the ascending run that starts at `start`. */
static uint32_t run_end(const struct bp_moment_entry *entries, uint32_t start, uint32_t count)
{
	uint32_t i = start + 1;
	while (i < count && !bp_moment_before(&entries[i].moment, &entries[i - 1].moment))
		i++;
	return i;
}

static void merge(const struct bp_moment_entry *from, uint32_t left, uint32_t middle,
	uint32_t right, struct bp_moment_entry *to)
{
	uint32_t a = left, b = middle, out = left;
	while (a < middle && b < right)
		to[out++] =
			bp_moment_before(&from[b].moment, &from[a].moment) ? from[b++] : from[a++];
	memcpy(&to[out], &from[a], (middle - a) * sizeof *from);
	out += middle - a;
	memcpy(&to[out], &from[b], (right - b) * sizeof *from);
}

bool bp_sort_moments(struct bp_moment_entry *entries, uint32_t count)
{
	if (count < 2 || run_end(entries, 0, count) == count)
		return true;
	struct bp_moment_entry *second = malloc((size_t)count * sizeof *second);
	if (second == NULL)
		return false;
	struct bp_moment_entry *from = entries, *to = second;
	for (uint32_t runs = 2; runs > 1;) {
		runs = 0;
		for (uint32_t start = 0; start < count; runs++) {
			uint32_t middle = run_end(from, start, count);
			uint32_t end = middle < count ? run_end(from, middle, count) : count;
			merge(from, start, middle, end, to);
			start = end;
		}
		struct bp_moment_entry *swap = from;
		from = to;
		to = swap;
	}
	if (from != entries)
		memcpy(entries, from, (size_t)count * sizeof *entries);
	free(second);
	return true;
}
