/* SPDX-License-Identifier: MIT */
/* The cold half of the hash index: growth and hashing of bytes. See id_index.h. */
#include "model/id_index.h"

#include <stdlib.h>
#include <string.h>

void bp_id_index_finish(struct bp_id_index *index)
{
	free(index->slots);
	memset(index, 0, sizeof *index);
}

static void insert(struct bp_id_slot *slots, uint32_t capacity, struct bp_id_slot slot)
{
	uint32_t position = slot.hash & (capacity - 1);
	while (slots[position].id != 0)
		position = (position + 1) & (capacity - 1);
	slots[position] = slot;
}

/* Grows at three quarters full: probes stay short and the scan always meets an empty slot. */
bool bp_id_index_reserve(struct bp_id_index *index)
{
	if ((uint64_t)index->used * 4 + 4 <= (uint64_t)index->capacity * 3)
		return true;
	if (index->capacity > UINT32_MAX / 4)
		return false;
	uint32_t capacity = index->capacity == 0 ? 64 : index->capacity * 2;
	struct bp_id_slot *slots = calloc(capacity, sizeof *slots);
	if (slots == NULL)
		return false;
	for (uint32_t i = 0; i < index->capacity; i++)
		if (index->slots[i].id != 0)
			insert(slots, capacity, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->capacity = capacity;
	return true;
}

void bp_id_index_add(struct bp_id_index *index, uint32_t hash, uint32_t id)
{
	insert(index->slots, index->capacity, (struct bp_id_slot){ hash, id });
	index->used++;
}

uint64_t bp_hash_bytes(uint64_t start, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t hash = bp_hash_word(start, bytes);
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, sizeof word);
		hash = bp_hash_word(hash, word);
	}
	uint64_t last = 0;
	if (bytes > 0)
		memcpy(&last, p, bytes);
	return bp_hash_word(hash, last);
}
