/* SPDX-License-Identifier: MIT */
/*
 * A hash index from hashes to table ids: open addressing with linear probing over pairs of (hash,
 * id). It knows nothing of what it indexes: the caller compares candidates. Id 0 is never stored
 * (the empty entry of every table), so that zeroed memory is a valid empty index. Used by the
 * tables of the profile, by aggregation and by exporters that number things of their own.
 */
#ifndef BP_MODEL_ID_INDEX_H
#define BP_MODEL_ID_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_id_slot {
	uint32_t hash, id;
};

struct bp_id_index {
	struct bp_id_slot *slots;
	uint32_t capacity; /* power of two, or 0 */
	uint32_t used;
};

void bp_id_index_finish(struct bp_id_index *index);

/* Makes room for one more entry; false: no memory, index unchanged. */
bool bp_id_index_reserve(struct bp_id_index *index);

/* Adds an entry; bp_id_index_reserve must have succeeded since the last addition. */
void bp_id_index_add(struct bp_id_index *index, uint32_t hash, uint32_t id);

/* The candidates of a hash, one after the other: start with *position = hash; returns 0 at the end.
 */
static inline uint32_t bp_id_index_next(
	const struct bp_id_index *index, uint32_t hash, uint32_t *position)
{
	if (index->capacity == 0)
		return 0;
	for (;;) {
		struct bp_id_slot slot = index->slots[*position & (index->capacity - 1)];
		(*position)++;
		if (slot.id == 0 || slot.hash == hash)
			return slot.id;
	}
}

/* Mixes one word into a running hash (multiply and fold, as in many fast string hashes). */
static inline uint64_t bp_hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ (hash >> 29);
}

/* Hash of bytes; `start` separates tables or continues a hash. */
uint64_t bp_hash_bytes(uint64_t start, const void *data, size_t bytes);

/* The 32 bits an index keeps. */
static inline uint32_t bp_hash_fold(uint64_t hash)
{
	hash *= 0xBF58476D1CE4E5B9u;
	return (uint32_t)(hash >> 32);
}

#endif
