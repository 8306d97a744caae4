/* SPDX-License-Identifier: MIT */
/*
 * From a sequence number to the sample that has it: the join of frees and samples, done as often as
 * there are records. Numbers are given to samples and frees alike, one after the other, so that an array
 * by number is small and quickly read: most samples are looked for soon after they came. A number so far
 * ahead that its place would cost too much memory goes to an ordinary index instead and stays there.
 *
 *	entries	by sequence - first: 0 no sample has it, GONE its free has come, else the entry and 1
 *
 * Zeroed memory is an empty, valid value.
 */
#ifndef BP_IMPORT_SAMPLE_INDEX_H
#define BP_IMPORT_SAMPLE_INDEX_H

#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/vec.h"

/* Numbers per sample for which places are affordable: 16 bytes; and a few beyond. */
#define BP_SAMPLE_INDEX_SPREAD 4u
#define BP_SAMPLE_INDEX_START (1u << 22)
#define BP_SAMPLE_INDEX_STEP (1u << 14) /* places are made so many at a time */
#define BP_SAMPLE_INDEX_GONE UINT32_MAX

struct bp_far_sample {
	uint64_t sequence;
	uint32_t entry;
};

struct bp_sample_index {
	uint64_t first; /* sequence of place 0; set it before the first use */
	uint32_t *entries;
	uint32_t places, capacity, count;
	struct bp_far_sample *far;
	uint32_t far_count, far_capacity;
	struct bp_index far_index;
};

static inline struct bp_index_keys bp_sample_index_far_keys(const struct bp_sample_index *index)
{
	return (struct bp_index_keys){ index->far, sizeof *index->far };
}

static inline bool bp_sample_index_is_near(const struct bp_sample_index *index, uint64_t sequence)
{
	const uint64_t at = sequence - index->first;
	return at < index->places && index->entries[at] != 0;
}

/* Was there ever a sample with this sequence? */
static inline bool bp_sample_index_has(const struct bp_sample_index *index, uint64_t sequence)
{
	return bp_sample_index_is_near(index, sequence) ||
	       bp_index_find(&index->far_index, bp_sample_index_far_keys(index), sequence) !=
		       BP_INDEX_NONE;
}

/* Where this number will be looked for, for __builtin_prefetch. */
static inline const void *bp_sample_index_where(
	const struct bp_sample_index *index, uint64_t sequence)
{
	const uint64_t at = sequence - index->first;
	return at < index->places ? &index->entries[at] : NULL;
}

/* The entry of the sample with this sequence, if it was not removed; else BP_INDEX_NONE. */
static inline uint32_t bp_sample_index_find(const struct bp_sample_index *index, uint64_t sequence)
{
	if (bp_sample_index_is_near(index, sequence)) {
		const uint32_t found = index->entries[sequence - index->first];
		return found == BP_SAMPLE_INDEX_GONE ? BP_INDEX_NONE : found - 1;
	}
	const uint32_t far =
		bp_index_find(&index->far_index, bp_sample_index_far_keys(index), sequence);
	return far == BP_INDEX_NONE ? BP_INDEX_NONE : index->far[far].entry;
}

/* Makes places up to number `at`, if that is affordable and there is memory. */
static inline bool bp_sample_index_cover(struct bp_sample_index *index, uint64_t at)
{
	const uint64_t most =
		(uint64_t)BP_SAMPLE_INDEX_SPREAD * index->count + BP_SAMPLE_INDEX_START;
	const uint64_t places = (at / BP_SAMPLE_INDEX_STEP + 1) * BP_SAMPLE_INDEX_STEP;
	if (at < index->places)
		return true;
	if (at >= most ||
		!bp_vec_reserve(&index->entries, &index->capacity, places, sizeof *index->entries))
		return false;
	memset(index->entries + index->places, 0,
		(places - index->places) * sizeof *index->entries);
	index->places = (uint32_t)places;
	return true;
}

/* Adds a sample whose sequence no other has; `entry` is below the two largest numbers. False: no memory. */
static inline bool bp_sample_index_add(
	struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	const uint64_t at = sequence - index->first;
	index->count++;
	if (bp_sample_index_cover(index, at)) {
		index->entries[at] = entry + 1;
		return true;
	}
	if (!bp_vec_reserve(&index->far, &index->far_capacity, (uint64_t)index->far_count + 1,
		    sizeof *index->far))
		return false;
	index->far[index->far_count] = (struct bp_far_sample){ sequence, entry };
	return bp_index_add(&index->far_index, bp_sample_index_far_keys(index), index->far_count++);
}

/* A sample that will not be looked for any more. (One far ahead may still be found.) */
static inline void bp_sample_index_remove(struct bp_sample_index *index, uint64_t sequence)
{
	if (bp_sample_index_is_near(index, sequence))
		index->entries[sequence - index->first] = BP_SAMPLE_INDEX_GONE;
}

static inline void bp_sample_index_finish(struct bp_sample_index *index)
{
	free(index->entries);
	free(index->far);
	bp_index_finish(&index->far_index);
	memset(index, 0, sizeof *index);
}

#endif
