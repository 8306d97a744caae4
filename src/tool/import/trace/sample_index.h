/* SPDX-License-Identifier: MIT */
/*
 * From a sequence number to the sample that has it: the join of frees and samples, done as often as
 * there are records. Numbers are given to samples and frees alike, one after the other, so that
 * arrays by number are small and quickly read: most samples are looked for soon after they came.
 * What is left of a block of numbers once nearly all of its samples were freed is kept apart, and
 * its array goes to a block that begins: so the arrays are as many as the program has samples that
 * may be looked for, and not as the trace is long. A number so far ahead that its place would cost
 * too much memory, or that comes when its block has no array any more, goes to an ordinary index
 * instead and stays there.
 *
 *	blocks	by (sequence - first) / BP_SAMPLE_BLOCK
 *	entries	by the rest: 0 no sample has it, GONE its free has come, else the entry and 1
 *	few	in the place of entries: which numbers came, and the entries that are not gone
 *
 * Zeroed memory is an empty, valid value. Called by trace_join.c.
 */
#ifndef BP_IMPORT_TRACE_SAMPLE_INDEX_H
#define BP_IMPORT_TRACE_SAMPLE_INDEX_H

#include "base/index.h"

#define BP_SAMPLE_BLOCK_LOG2 10u
#define BP_SAMPLE_BLOCK (1u << BP_SAMPLE_BLOCK_LOG2)
/* So few entries take an eighth of the memory of an array. */
#define BP_SAMPLE_FEW 64u
/* So many blocks behind the last (8 MiB), numbers hardly ever come late: a writer keeps a chunk of
 * a few thousand records while its thread waits for a processor, and in a second of a busy program
 * some million numbers are given. Of those that come later still, each takes some 24 bytes in the
 * ordinary index. */
#define BP_SAMPLE_BLOCKS_OPEN 2048u
#define BP_SAMPLE_INDEX_GONE UINT32_MAX

struct bp_sample_few {
	uint64_t came[BP_SAMPLE_BLOCK / 64]; /* a bit for each number */
	uint32_t count;
	uint16_t places[BP_SAMPLE_FEW];
	uint32_t entries[BP_SAMPLE_FEW];
};

struct bp_sample_block {
	uint32_t *entries; /* NULL: none came yet, or they are few */
	struct bp_sample_few *few;
	uint32_t live; /* in `entries`, and not gone */
};

struct bp_far_sample {
	uint64_t sequence;
	uint32_t entry;
};

struct bp_sample_index {
	uint64_t first; /* sequence of place 0; set it before the first use */
	struct bp_sample_block *blocks;
	uint32_t block_count, block_capacity, count;
	struct bp_far_sample *far;
	uint32_t far_count, far_capacity;
	struct bp_index far_index;
	bool has_ahead; /* in `far` is a number that has no block, or had none when it came */
};

/* Its place in an array; NULL: there is none. To be had early, for __builtin_prefetch. */
static inline uint32_t *bp_sample_index_place(
	const struct bp_sample_index *index, uint64_t sequence)
{
	const uint64_t at = sequence - index->first;
	if (at >> BP_SAMPLE_BLOCK_LOG2 >= index->block_count)
		return NULL;
	uint32_t *entries = index->blocks[at >> BP_SAMPLE_BLOCK_LOG2].entries;
	return entries == NULL ? NULL : &entries[at & (BP_SAMPLE_BLOCK - 1)];
}

/* Was there ever a sample with this sequence? */
bool bp_sample_index_has_elsewhere(const struct bp_sample_index *index, uint64_t sequence);
static inline bool bp_sample_index_has(const struct bp_sample_index *index, uint64_t sequence)
{
	const uint32_t *place = bp_sample_index_place(index, sequence);
	return place != NULL && (*place != 0 || !index->has_ahead)
		       ? *place != 0
		       : bp_sample_index_has_elsewhere(index, sequence);
}

/* The entry of the sample with this sequence, if it was not removed; else BP_INDEX_NONE. */
uint32_t bp_sample_index_find_elsewhere(const struct bp_sample_index *index, uint64_t sequence);
static inline uint32_t bp_sample_index_find(const struct bp_sample_index *index, uint64_t sequence)
{
	const uint32_t *place = bp_sample_index_place(index, sequence);
	if (place == NULL || *place == 0)
		return bp_sample_index_find_elsewhere(index, sequence);
	return *place == BP_SAMPLE_INDEX_GONE ? BP_INDEX_NONE : *place - 1;
}

/* Adds a sample whose sequence no other has; `entry` is below the two largest numbers. False: no
 * memory. */
bool bp_sample_index_begin(struct bp_sample_index *index, uint64_t sequence, uint32_t entry);
static inline bool bp_sample_index_add(
	struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	uint32_t *place = bp_sample_index_place(index, sequence);
	index->count++;
	if (place == NULL)
		return bp_sample_index_begin(index, sequence, entry);
	*place = entry + 1;
	index->blocks[(sequence - index->first) >> BP_SAMPLE_BLOCK_LOG2].live++;
	return true;
}

/* The same in one look, where there is a place for it and no other sample can have its sequence;
 * false: not so, ask in turn. */
static inline bool bp_sample_index_put(
	struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	uint32_t *place = bp_sample_index_place(index, sequence);
	if (place == NULL || *place != 0 || index->has_ahead)
		return false;
	*place = entry + 1;
	index->count++;
	index->blocks[(sequence - index->first) >> BP_SAMPLE_BLOCK_LOG2].live++;
	return true;
}

/* A sample that was found and will not be looked for any more. (One of the ordinary index may still
 * be found.) */
void bp_sample_index_remove_elsewhere(struct bp_sample_index *index, uint64_t sequence);
void bp_sample_index_thin(struct bp_sample_index *index, uint32_t number);
static inline void bp_sample_index_remove(struct bp_sample_index *index, uint64_t sequence)
{
	uint32_t *place = bp_sample_index_place(index, sequence);
	if (place == NULL || *place == 0) {
		bp_sample_index_remove_elsewhere(index, sequence);
		return;
	}
	const uint32_t number = (uint32_t)((sequence - index->first) >> BP_SAMPLE_BLOCK_LOG2);
	*place = BP_SAMPLE_INDEX_GONE;
	if (--index->blocks[number].live == BP_SAMPLE_FEW)
		bp_sample_index_thin(index, number);
}

void bp_sample_index_finish(struct bp_sample_index *index);

#endif
