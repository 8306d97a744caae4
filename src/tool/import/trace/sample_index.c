/* SPDX-License-Identifier: MIT */
/* Blocks of numbers as they begin and thin out, and what has no place in one; see
 * sample_index.h. */
#include "import/trace/sample_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Numbers per sample for which places are affordable: 16 bytes; and a few beyond. */
#define SPREAD 4u
#define START (1u << 22)

static struct bp_index_keys far_keys(const struct bp_sample_index *index)
{
	return (struct bp_index_keys){ index->far, sizeof *index->far };
}

/* The few that are left of the block of a number; NULL: there is none such. */
static struct bp_sample_few *few_of(const struct bp_sample_index *index, uint64_t sequence)
{
	const uint64_t number = (sequence - index->first) >> BP_SAMPLE_BLOCK_LOG2;
	return number < index->block_count ? index->blocks[number].few : NULL;
}

static uint32_t place_of(const struct bp_sample_index *index, uint64_t sequence)
{
	return (uint32_t)(sequence - index->first) & (BP_SAMPLE_BLOCK - 1);
}

static bool has_come(const struct bp_sample_few *few, uint32_t place)
{
	return few->came[place / 64] >> place % 64 & 1;
}

/* Its number among the few; `count`: it is none of them. */
static uint32_t find_few(const struct bp_sample_few *few, uint32_t place)
{
	uint32_t i = 0;
	while (i < few->count && few->places[i] != place)
		i++;
	return i;
}

bool bp_sample_index_has_elsewhere(const struct bp_sample_index *index, uint64_t sequence)
{
	const struct bp_sample_few *few = few_of(index, sequence);
	if (few != NULL && (has_come(few, place_of(index, sequence)) || !index->has_ahead))
		return has_come(few, place_of(index, sequence));
	return bp_index_find(&index->far_index, far_keys(index), sequence) != BP_INDEX_NONE;
}

uint32_t bp_sample_index_find_elsewhere(const struct bp_sample_index *index, uint64_t sequence)
{
	const struct bp_sample_few *few = few_of(index, sequence);
	const uint32_t found = few == NULL ? 0 : find_few(few, place_of(index, sequence));
	if (few != NULL && found < few->count)
		return few->entries[found];
	const uint32_t far = bp_index_find(&index->far_index, far_keys(index), sequence);
	return far == BP_INDEX_NONE ? BP_INDEX_NONE : index->far[far].entry;
}

void bp_sample_index_remove_elsewhere(struct bp_sample_index *index, uint64_t sequence)
{
	struct bp_sample_few *few = few_of(index, sequence);
	if (few == NULL)
		return;
	const uint32_t found = find_few(few, place_of(index, sequence));
	if (found == few->count)
		return;
	few->count--;
	few->places[found] = few->places[few->count];
	few->entries[found] = few->entries[few->count];
}

/* Keeps what is left of a block, if that is little and the block old; without memory it stays as it
 * is. */
void bp_sample_index_thin(struct bp_sample_index *index, uint32_t number)
{
	struct bp_sample_block *block = &index->blocks[number];
	if (block->entries == NULL || block->live > BP_SAMPLE_FEW ||
		index->block_count - number <= BP_SAMPLE_BLOCKS_OPEN)
		return;
	struct bp_sample_few *few = calloc(1, sizeof *few);
	if (few == NULL)
		return;
	for (uint32_t place = 0; place < BP_SAMPLE_BLOCK; place++) {
		const uint32_t entry = block->entries[place];
		few->came[place / 64] |= (uint64_t)(entry != 0) << place % 64;
		if (entry == 0 || entry == BP_SAMPLE_INDEX_GONE)
			continue;
		few->places[few->count] = (uint16_t)place;
		few->entries[few->count++] = entry - 1;
	}
	free(block->entries);
	*block = (struct bp_sample_block){ .few = few };
}

/* Makes blocks up to one that has number `at`, if that is affordable and there is memory. */
static bool cover(struct bp_sample_index *index, uint64_t at)
{
	const uint64_t most = (uint64_t)SPREAD * index->count + START;
	const uint64_t blocks = (at >> BP_SAMPLE_BLOCK_LOG2) + 1;
	const uint32_t covered = index->block_count;
	if (blocks <= covered)
		return true;
	if (at >= most || !bp_vec_reserve(&index->blocks, &index->block_capacity, blocks,
				  sizeof *index->blocks))
		return false;
	memset(index->blocks + covered, 0, (blocks - covered) * sizeof *index->blocks);
	index->block_count = (uint32_t)blocks;
	for (uint64_t i = covered; i < blocks; i++)
		if (i >= BP_SAMPLE_BLOCKS_OPEN)
			bp_sample_index_thin(index, (uint32_t)i - BP_SAMPLE_BLOCKS_OPEN);
	return true;
}

static bool add_far(struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	if (!bp_vec_reserve(&index->far, &index->far_capacity, (uint64_t)index->far_count + 1,
		    sizeof *index->far))
		return false;
	index->far[index->far_count] = (struct bp_far_sample){ sequence, entry };
	return bp_index_add(&index->far_index, far_keys(index), index->far_count++);
}

/* Adds a sample whose number has no place yet. */
bool bp_sample_index_begin(struct bp_sample_index *index, uint64_t sequence, uint32_t entry)
{
	const uint64_t at = sequence - index->first;
	const uint32_t place = place_of(index, sequence);
	struct bp_sample_block *block =
		cover(index, at) ? &index->blocks[at >> BP_SAMPLE_BLOCK_LOG2] : NULL;
	if (block != NULL && block->few != NULL) {
		block->few->came[place / 64] |= UINT64_C(1) << place % 64;
		return add_far(index, sequence, entry);
	}
	uint32_t *entries = block == NULL ? NULL : calloc(BP_SAMPLE_BLOCK, sizeof *entries);
	if (entries == NULL) {
		index->has_ahead = true;
		return add_far(index, sequence, entry);
	}
	entries[place] = entry + 1;
	*block = (struct bp_sample_block){ .entries = entries, .live = 1 };
	return true;
}

void bp_sample_index_finish(struct bp_sample_index *index)
{
	for (uint32_t i = 0; i < index->block_count; i++) {
		free(index->blocks[i].entries);
		free(index->blocks[i].few);
	}
	free(index->blocks);
	free(index->far);
	bp_index_finish(&index->far_index);
	memset(index, 0, sizeof *index);
}
