/* SPDX-License-Identifier: MIT */
/*
 * An index over an array: finds the entry with a given 64-bit key in the caller's own array, at
 * four bytes a slot (the keys stay in the entries and are not copied). Open addressing, linear
 * probing, at most two thirds full, entries are never removed.
 *
 * Keys of a trace are nearly always dense counters (ids, ordinals), so a key is its own hash:
 * neighbours in time are neighbours in memory. [While that is so, every entry is less than
 * PROBES_MAX slots from its home], which bounds the search for a key that is not there, too. Where
 * that cannot be kept (a hostile file, a strange stride) the index is rebuilt once with a hash
 * seeded from its own address, which a file cannot know.
 *
 * Zeroed memory is an empty index. Thread-safety: belongs to its caller. Outside half only.
 */
#ifndef BP_BASE_INDEX_H
#define BP_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BP_INDEX_NONE UINT32_MAX
#define BP_INDEX_PROBES_MAX 32u

struct bp_index {
	uint32_t *slots; /* entry number + 1; 0: free */
	uint32_t slot_count, count;
	uint64_t seed; /* 0: a key is its own hash */
};

/* The array that is indexed: entry i has its key at keys + i * stride_bytes. */
struct bp_index_keys {
	const void *keys;
	size_t stride_bytes;
};

static inline uint64_t bp_index_key(struct bp_index_keys keys, uint32_t entry)
{
	uint64_t key;
	memcpy(&key, (const char *)keys.keys + (size_t)entry * keys.stride_bytes, sizeof key);
	return key;
}

static inline uint32_t bp_index_home(const struct bp_index *index, uint64_t key)
{
	uint64_t hash = index->seed == 0 ? key : bp_hash_u64(key ^ index->seed);
	return (uint32_t)hash & (index->slot_count - 1);
}

/* The number of the entry with this key, or BP_INDEX_NONE. */
static inline uint32_t bp_index_find(
	const struct bp_index *index, struct bp_index_keys keys, uint64_t key)
{
	uint32_t most = index->seed == 0 ? BP_INDEX_PROBES_MAX : UINT32_MAX;
	if (index->slot_count == 0)
		return BP_INDEX_NONE;
	uint32_t at = bp_index_home(index, key);
	for (uint32_t probes = 0; probes < most && index->slots[at] != 0; probes++) {
		if (bp_index_key(keys, index->slots[at] - 1) == key)
			return index->slots[at] - 1;
		at = (at + 1) & (index->slot_count - 1);
	}
	return BP_INDEX_NONE;
}

/* Puts an entry in the first free slot from its home on; false (nothing done): that is too far. */
static inline bool bp_index_place(struct bp_index *index, struct bp_index_keys keys, uint32_t entry)
{
	uint32_t most = index->seed == 0 ? BP_INDEX_PROBES_MAX : UINT32_MAX;
	uint32_t at = bp_index_home(index, bp_index_key(keys, entry));
	for (uint32_t probes = 0; probes < most; probes++) {
		if (index->slots[at] == 0) {
			index->slots[at] = entry + 1;
			return true;
		}
		at = (at + 1) & (index->slot_count - 1);
	}
	return false;
}

/* Moves everything to `slot_count` slots (a power of two, enough). `hashed`: hash the keys, which
 * is also done where they cannot stay their own hash. False: no memory, the index is as before. */
static inline bool bp_index_rebuild(
	struct bp_index *index, struct bp_index_keys keys, uint32_t slot_count, bool hashed)
{
	struct bp_index old = *index;
	uint32_t *slots = (uint32_t *)calloc(slot_count, sizeof *slots);
	if (slots == NULL)
		return false;
	index->slots = slots;
	index->slot_count = slot_count;
	if (hashed && index->seed == 0)
		index->seed = bp_hash_u64((uint64_t)(uintptr_t)slots) | 1;
	for (uint32_t i = 0; i < old.slot_count; i++) {
		if (old.slots[i] == 0 || bp_index_place(index, keys, old.slots[i] - 1))
			continue;
		index->seed = bp_hash_u64((uint64_t)(uintptr_t)slots) | 1;
		memset(slots, 0, slot_count * sizeof *slots);
		i = UINT32_MAX; /* From the start again. */
	}
	free(old.slots);
	return true;
}

/* Adds entry number `entry`, whose key is in place already and not in the index yet. False: no
 * memory (the index is as before). */
static inline bool bp_index_add(struct bp_index *index, struct bp_index_keys keys, uint32_t entry)
{
	if (index->count >= index->slot_count / 3 * 2) {
		uint32_t slot_count = index->slot_count == 0 ? 16 : index->slot_count * 2;
		if (slot_count == 0 || !bp_index_rebuild(index, keys, slot_count, false))
			return false;
	}
	if (!bp_index_place(index, keys, entry) &&
		(!bp_index_rebuild(index, keys, index->slot_count, true) ||
			!bp_index_place(index, keys, entry)))
		return false;
	index->count++;
	return true;
}

static inline void bp_index_finish(struct bp_index *index)
{
	free(index->slots);
	memset(index, 0, sizeof *index);
}

#endif
