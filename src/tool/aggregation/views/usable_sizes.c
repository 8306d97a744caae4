/* SPDX-License-Identifier: MIT */
/*
 * The table is sorted by allocator and size. What a request of a size gets is the least that one of
 * that size, or of a larger one, was seen to get: allocators give no less for more. Requests that
 * get the same are neighbours then, and what ends below the first of them is a smaller class.
 */
#include "aggregation/views/usable_sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define FEW_BYTES_PART 8    /* a few bytes are at most this part of a size ... */
#define BYTES_SAVED_TIMES 2 /* ... and save at least so many times their number ... */
#define SAVED_PART 50	    /* ... and this part of what is given */

bool bp_usable_sizes_add(struct bp_usable_sizes *sizes, struct bp_usable_pair pair)
{
	if (!bp_vec_reserve(&sizes->pairs, &sizes->capacity, (uint64_t)sizes->count + 1,
		    sizeof *sizes->pairs))
		return false;
	sizes->pairs[sizes->count++] = pair;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct bp_usable_pair *a = left, *b = right;
	if (a->allocator != b->allocator)
		return a->allocator < b->allocator ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->usable < b->usable ? -1 : a->usable > b->usable;
}

void bp_usable_sizes_learn(struct bp_usable_sizes *sizes)
{
	struct bp_usable_pair *pairs = sizes->pairs;
	uint32_t kept = 0;
	if (sizes->count == 0)
		return;
	qsort(pairs, sizes->count, sizeof *pairs, compare);
	for (uint32_t i = 0; i < sizes->count; i++) {
		/* The first of a size has the least. */
		if (kept > 0 && pairs[kept - 1].allocator == pairs[i].allocator &&
			pairs[kept - 1].size == pairs[i].size)
			continue;
		pairs[kept++] = pairs[i];
	}
	sizes->count = kept;
	for (uint32_t i = kept - 1; i-- > 0;)
		if (pairs[i].allocator == pairs[i + 1].allocator &&
			pairs[i].usable > pairs[i + 1].usable)
			pairs[i].usable = pairs[i + 1].usable;
}

void bp_usable_sizes_finish(struct bp_usable_sizes *sizes)
{
	free(sizes->pairs);
	memset(sizes, 0, sizeof *sizes);
}

/* The place of a size; `count`: it was never seen. */
static uint32_t find(const struct bp_usable_sizes *sizes, uint32_t allocator, uint64_t size)
{
	const struct bp_usable_pair wanted = { allocator, size, 0 };
	uint32_t low = 0, high = sizes->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (compare(&sizes->pairs[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sizes->count && sizes->pairs[low].allocator == allocator &&
			       sizes->pairs[low].size == size
		       ? low
		       : sizes->count;
}

/* Is the step from `size`, which gets `usable`, down to `instead` worth what it takes away? */
static bool pays(uint64_t size, uint64_t usable, uint64_t instead, uint64_t saved)
{
	return instead < size && size - instead <= size / FEW_BYTES_PART &&
	       saved >= BYTES_SAVED_TIMES * (size - instead) && saved >= usable / SAVED_PART;
}

struct bp_size_advice bp_usable_sizes_advice(
	const struct bp_usable_sizes *sizes, uint32_t allocator, uint64_t size)
{
	struct bp_size_advice advice = { BP_ADVICE_UNKNOWN, 0, 0, 0 };
	const uint32_t place = find(sizes, allocator, size);
	if (place == sizes->count)
		return advice;
	const struct bp_usable_pair *pair = &sizes->pairs[place];
	const struct bp_usable_pair *first = pair, *last = pair;
	const struct bp_usable_pair *end = sizes->pairs + sizes->count;
	advice.usable = pair->usable;
	while (first > sizes->pairs && first[-1].allocator == allocator &&
		first[-1].usable == pair->usable)
		first--;
	while (last + 1 < end && last[1].allocator == allocator && last[1].usable == pair->usable)
		last++;
	const struct bp_usable_pair *below =
		first > sizes->pairs && first[-1].allocator == allocator ? first - 1 : NULL;
	const uint64_t saved = below == NULL ? 0 : pair->usable - below->usable;
	if (pair->usable == size) {
		advice.kind = BP_ADVICE_FITS;
	} else if (below != NULL && pays(size, pair->usable, below->size, saved)) {
		advice.kind = BP_ADVICE_LESS;
		advice.instead = below->size;
		advice.saved = saved;
	} else if (below != NULL && pays(size, pair->usable, below->usable, saved)) {
		advice.kind = BP_ADVICE_PERHAPS_LESS;
		advice.instead = below->usable;
		advice.saved = saved;
	} else if (last->size > size) {
		advice.kind = BP_ADVICE_MORE;
		advice.instead = last->size;
	}
	return advice;
}
