/* SPDX-License-Identifier: MIT */
/*
 * An index of numbers by a hash, for the tables that exporters number: candidates of equal hash come
 * one after the other, the caller compares. Not for the inside of a target. One thread.
 */
#ifndef BP_REPORT_WORD_INDEX_H
#define BP_REPORT_WORD_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

struct bp_word_slot {
	uint64_t hash;
	uint32_t number; /* 0: free */
};

/* Zeroed memory is empty. */
struct bp_word_index {
	struct bp_word_slot *slots;
	uint32_t capacity, used; /* capacity: 0 or a power of two */
};

/* Mixes a word into a hash. */
static inline uint64_t bp_word_hash(uint64_t hash, uint64_t word)
{
	return bp_hash_u64(hash * 0x9E3779B97F4A7C15u + word);
}

/* The next candidate, or 0; start with *position = 0. */
static inline uint32_t bp_word_index_next(
	const struct bp_word_index *index, uint64_t hash, uint32_t *position)
{
	while (index->capacity > 0) {
		const struct bp_word_slot *slot =
			&index->slots[(hash + *position) & (index->capacity - 1)];
		(*position)++;
		if (slot->number == 0 || slot->hash == hash)
			return slot->number;
	}
	return 0;
}

static inline void bp_word_index_place(
	struct bp_word_slot *slots, uint32_t capacity, struct bp_word_slot slot)
{
	uint64_t at = slot.hash;
	while (slots[at & (capacity - 1)].number != 0)
		at++;
	slots[at & (capacity - 1)] = slot;
}

/* Adds `number` > 0; false: no memory. */
static inline bool bp_word_index_add(struct bp_word_index *index, uint64_t hash, uint32_t number)
{
	if (index->used >= index->capacity / 2) {
		uint32_t capacity = index->capacity == 0 ? 64 : index->capacity * 2;
		struct bp_word_slot *slots =
			capacity == 0 ? NULL
				      : (struct bp_word_slot *)calloc(capacity, sizeof *slots);
		if (slots == NULL)
			return false;
		for (uint32_t i = 0; i < index->capacity; i++)
			if (index->slots[i].number != 0)
				bp_word_index_place(slots, capacity, index->slots[i]);
		free(index->slots);
		index->slots = slots;
		index->capacity = capacity;
	}
	bp_word_index_place(index->slots, index->capacity, (struct bp_word_slot){ hash, number });
	index->used++;
	return true;
}

static inline void bp_word_index_finish(struct bp_word_index *index)
{
	free(index->slots);
	*index = (struct bp_word_index){ 0 };
}

#endif
