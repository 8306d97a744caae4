/* SPDX-License-Identifier: MIT */
/*
 * Searching in a sorted array, by halves: entries of any size, each of which begins with its key,
 * 64 bits without a sign, in growing order; equal keys are allowed. Pure; log2(count) + 1 steps.
 */
#ifndef BP_BASE_SORTED_H
#define BP_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many of the entries have a key of at most `key`: the number of the first one above it.
 * `entries` may be NULL if there are none. */
static inline uint32_t bp_sorted_upto(
	const void *entries, size_t entry_bytes, uint32_t count, uint64_t key)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		uint64_t found;
		memcpy(&found, (const char *)entries + middle * entry_bytes, sizeof found);
		if (found <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many have a smaller key: the number of the first one that has this, or a larger one. */
static inline uint32_t bp_sorted_below(
	const void *entries, size_t entry_bytes, uint32_t count, uint64_t key)
{
	return key == 0 ? 0 : bp_sorted_upto(entries, entry_bytes, count, key - 1);
}

#endif
