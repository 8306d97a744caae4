/* SPDX-License-Identifier: MIT */
/*
 * From a sequence number to the sample that has it: the join of frees and samples, done as often as
 * there are records. Only samples whose free has not come yet are ever looked for, and of them there are
 * far fewer than samples: a small table of these, which stays in the processor's cache, and one bit for
 * each sequence number that was ever given to a sample (numbers are given to samples and frees alike, one
 * after the other). A number so far ahead that its bit would cost too much memory goes to an ordinary
 * index instead and stays there.
 *
 *	seen	bit n: a sample has the sequence first + n
 *	live	open addressing, linear probing, at most two thirds full; numbers are spread by a
 *		multiplication [nobody is more than PROBES_MAX from home, or `seed` is set, which a file
 *		cannot know, and they are hashed with it]
 *
 * Zeroed memory is an empty, valid value.
 */
#ifndef BP_IMPORT_SAMPLE_INDEX_H
#define BP_IMPORT_SAMPLE_INDEX_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

/* Numbers per sample for which bits are affordable: 16 bytes. */
#define BP_SAMPLE_INDEX_SPREAD 128u
#define BP_SAMPLE_INDEX_START (1u << 20)
#define BP_SAMPLE_INDEX_PROBES_MAX 256u

struct bp_live_slot {
	uint32_t number; /* sequence - first */
	uint32_t entry;	 /* and 1; 0: free */
};

struct bp_far_sample {
	uint64_t sequence;
	uint32_t entry;
};

struct bp_sample_index {
	uint64_t first; /* sequence of bit 0; set it before the first use */
	uint64_t *seen;
	uint32_t words, word_capacity, count;
	struct bp_live_slot *live;
	uint32_t slot_count, live_count;
	uint64_t seed; /* 0: not needed so far */
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
	return at / 64 < index->words && (index->seen[at / 64] >> at % 64 & 1) != 0;
}

/* Was there ever a sample with this sequence? */
static inline bool bp_sample_index_has(const struct bp_sample_index *index, uint64_t sequence)
{
	return bp_sample_index_is_near(index, sequence) ||
	       bp_index_find(&index->far_index, bp_sample_index_far_keys(index), sequence) !=
		       BP_INDEX_NONE;
}

static inline uint32_t bp_sample_index_home(const struct bp_sample_index *index, uint32_t number)
{
	const uint32_t hash = index->seed == 0 ? number * 0x9E3779B1u
					       : (uint32_t)bp_hash_u64(number ^ index->seed);
	return (uint32_t)((uint64_t)hash * index->slot_count >> 32);
}

/* The slot of a number that is in the table, or UINT32_MAX. */
static inline uint32_t bp_sample_index_slot(const struct bp_sample_index *index, uint32_t number)
{
	if (index->slot_count == 0)
		return UINT32_MAX;
	uint32_t at = bp_sample_index_home(index, number);
	for (; index->live[at].entry != 0; at = (at + 1) & (index->slot_count - 1))
		if (index->live[at].number == number)
			return at;
	return UINT32_MAX;
}

/* Where this number will be looked for, for __builtin_prefetch. */
static inline const void *bp_sample_index_where(
	const struct bp_sample_index *index, uint64_t sequence)
{
	const uint32_t number = (uint32_t)(sequence - index->first);
	return index->slot_count == 0 ? NULL : &index->live[bp_sample_index_home(index, number)];
}

/* The entry of the sample with this sequence, if it was not removed; else BP_INDEX_NONE. */
static inline uint32_t bp_sample_index_find(const struct bp_sample_index *index, uint64_t sequence)
{
	if (bp_sample_index_is_near(index, sequence)) {
		const uint32_t slot =
			bp_sample_index_slot(index, (uint32_t)(sequence - index->first));
		return slot == UINT32_MAX ? BP_INDEX_NONE : index->live[slot].entry - 1;
	}
	const uint32_t far =
		bp_index_find(&index->far_index, bp_sample_index_far_keys(index), sequence);
	return far == BP_INDEX_NONE ? BP_INDEX_NONE : index->far[far].entry;
}

/* Puts a number into the table; false (nothing done): too far from home. */
static inline bool bp_sample_index_place(
	struct bp_sample_index *index, uint32_t number, uint32_t entry)
{
	const uint32_t most = index->seed == 0 ? BP_SAMPLE_INDEX_PROBES_MAX : UINT32_MAX;
	uint32_t at = bp_sample_index_home(index, number);
	for (uint32_t probes = 0; probes < most; probes++) {
		if (index->live[at].entry == 0) {
			index->live[at] = (struct bp_live_slot){ number, entry + 1 };
			return true;
		}
		at = (at + 1) & (index->slot_count - 1);
	}
	return false;
}

/* Moves everything to another table. False: no memory, all is as before. */
static inline bool bp_sample_index_rebuild(
	struct bp_sample_index *index, uint32_t slot_count, bool hashed)
{
	const struct bp_sample_index old = *index;
	struct bp_live_slot *live = (struct bp_live_slot *)calloc(slot_count, sizeof *live);
	if (live == NULL)
		return false;
	index->live = live;
	index->slot_count = slot_count;
	if (hashed && index->seed == 0)
		index->seed = bp_hash_u64((uint64_t)(uintptr_t)live) | 1;
	for (uint64_t i = 0; i < old.slot_count; i++) {
		const struct bp_live_slot slot = old.live[i];
		if (slot.entry == 0 || bp_sample_index_place(index, slot.number, slot.entry - 1))
			continue;
		index->seed = bp_hash_u64((uint64_t)(uintptr_t)live) | 1;
		memset(live, 0, slot_count * sizeof *live);
		i = UINT64_MAX; /* From the start again. */
	}
	free(old.live);
	return true;
}

static inline bool bp_sample_index_add_live(
	struct bp_sample_index *index, uint32_t number, uint32_t entry)
{
	if (index->live_count >= index->slot_count / 3 * 2) {
		const uint32_t slot_count = index->slot_count == 0 ? 1024 : index->slot_count * 2;
		if (slot_count == 0 || !bp_sample_index_rebuild(index, slot_count, false))
			return false;
	}
	if (!bp_sample_index_place(index, number, entry) &&
		(!bp_sample_index_rebuild(index, index->slot_count, true) ||
			!bp_sample_index_place(index, number, entry)))
		return false;
	index->live_count++;
	return true;
}

/* Extends the bits to number `at`, if that is affordable and there is memory. */
static inline bool bp_sample_index_cover(struct bp_sample_index *index, uint64_t at)
{
	const uint64_t most =
		(uint64_t)BP_SAMPLE_INDEX_SPREAD * index->count + BP_SAMPLE_INDEX_START;
	if (at / 64 < index->words)
		return true;
	if (at >= most || at > UINT32_MAX ||
		!bp_vec_reserve(
			&index->seen, &index->word_capacity, at / 64 + 1, sizeof *index->seen))
		return false;
	memset(index->seen + index->words, 0,
		(index->word_capacity - index->words) * sizeof *index->seen);
	index->words = index->word_capacity;
	return true;
}

/* Adds a sample whose sequence no other has. False: no memory. */
static inline bool bp_sample_index_add(
	struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	const uint64_t at = sequence - index->first;
	index->count++;
	if (bp_sample_index_cover(index, at) && at <= UINT32_MAX) {
		if (!bp_sample_index_add_live(index, (uint32_t)at, entry))
			return false;
		index->seen[at / 64] |= (uint64_t)1 << at % 64;
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
	if (!bp_sample_index_is_near(index, sequence))
		return;
	uint32_t hole = bp_sample_index_slot(index, (uint32_t)(sequence - index->first));
	if (hole == UINT32_MAX)
		return;
	const uint32_t mask = index->slot_count - 1;
	/* Those behind move up, but none before its home. */
	for (uint32_t at = (hole + 1) & mask; index->live[at].entry != 0; at = (at + 1) & mask) {
		const uint32_t home = bp_sample_index_home(index, index->live[at].number);
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		index->live[hole] = index->live[at];
		hole = at;
	}
	index->live[hole].entry = 0;
	index->live_count--;
}

static inline void bp_sample_index_finish(struct bp_sample_index *index)
{
	free(index->seen);
	free(index->live);
	free(index->far);
	bp_index_finish(&index->far_index);
	memset(index, 0, sizeof *index);
}

#endif
