/* SPDX-License-Identifier: MIT */
/*
 * From a sequence number to the sample that has it: the join of frees and samples, done as often as
 * there are records. Sequence numbers are given to samples and frees alike, one after the other, so
 * an array indexed by them is both smaller and faster than any hash (no key is looked at,
 * neighbours in time are neighbours in memory). A file that leaves large gaps must not cost memory
 * for them: a number beyond SPREAD times the samples so far goes to an ordinary index instead.
 *
 * [a sample is in exactly one of the two] Zeroed memory is an empty, valid value.
 */
#ifndef BP_IMPORT_SAMPLE_INDEX_H
#define BP_IMPORT_SAMPLE_INDEX_H

#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/vec.h"

/* Array entries per sample that are affordable: a sample itself takes 72 bytes, and a program that
 * frees everything once has two numbers per sample. */
#define BP_SAMPLE_INDEX_SPREAD 4u
#define BP_SAMPLE_INDEX_START 65536u

struct bp_sample_index {
	uint64_t first;	  /* sequence of direct[0]; set it before the first use */
	uint32_t *direct; /* entry + 1; 0: none */
	uint32_t span, capacity, count;
	struct bp_index others;
};

/* The entry of the sample with this sequence, or BP_INDEX_NONE. `keys`: the samples' sequences. */
static inline uint32_t bp_sample_index_find(
	const struct bp_sample_index *index, struct bp_index_keys keys, uint64_t sequence)
{
	uint64_t at = sequence - index->first;
	if (at < index->span && index->direct[at] != 0)
		return index->direct[at] - 1;
	return bp_index_find(&index->others, keys, sequence);
}

/* Extends the array to cover position `at`, if that is affordable and there is memory. */
static inline bool bp_sample_index_cover(struct bp_sample_index *index, uint64_t at)
{
	uint64_t most = (uint64_t)BP_SAMPLE_INDEX_SPREAD * index->count + BP_SAMPLE_INDEX_START;
	if (at < index->span)
		return true;
	if (at >= most ||
		!bp_vec_reserve(&index->direct, &index->capacity, at + 1, sizeof *index->direct))
		return false;
	memset(index->direct + index->span, 0,
		(index->capacity - index->span) * sizeof *index->direct);
	index->span = index->capacity;
	return true;
}

/* Adds a sample that is not in the index yet. False: no memory. */
static inline bool bp_sample_index_add(
	struct bp_sample_index *index, struct bp_index_keys keys, uint32_t entry)
{
	uint64_t at = bp_index_key(keys, entry) - index->first;
	index->count++;
	if (!bp_sample_index_cover(index, at))
		return bp_index_add(&index->others, keys, entry);
	index->direct[at] = entry + 1;
	return true;
}

static inline void bp_sample_index_finish(struct bp_sample_index *index)
{
	free(index->direct);
	bp_index_finish(&index->others);
	memset(index, 0, sizeof *index);
}

#endif
