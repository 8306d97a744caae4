/* SPDX-License-Identifier: MIT */
/*
 * Buckets of linked entries that never change or go, as in tables/text_table.c: an entry is filled
 * before it is put where others find it.
 */
#include "python/frame_names.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "tables/arena.h"
#include "trace/writer/writer.h"

#define BUCKETS 16384u
#define BLOCK_PLACES 1024u

struct place {
	struct place *next; /* in its bucket */
	uint64_t hash;
	uint32_t id, line;
	uint32_t function_bytes, file_bytes;
	uint32_t written; /* generation of the trace that has it */
	char texts[];	  /* the function, then the file */
};

static struct {
	struct bp_lock lock; /* held while a place is added */
	uint32_t generation, count;
	uint64_t bytes;
	struct place **buckets;
	/* by number: place n is in block n / BLOCK_PLACES */
	struct place **blocks[BP_PYTHON_PLACES_MAX / BLOCK_PLACES + 1];
} places = { .generation = 1 };

static uint64_t hash_of(
	const struct bp_python_text *function, const struct bp_python_text *file, uint32_t line)
{
	const uint64_t words[3] = { bp_checksum(function->data, function->bytes),
		bp_checksum(file->data, file->bytes), line };
	return bp_checksum(words, sizeof words);
}

static struct place *find(const struct bp_python_text *function, const struct bp_python_text *file,
	uint32_t line, uint64_t hash)
{
	struct place **buckets = __atomic_load_n(&places.buckets, __ATOMIC_ACQUIRE);
	if (buckets == NULL)
		return NULL;
	struct place *place = __atomic_load_n(&buckets[hash % BUCKETS], __ATOMIC_ACQUIRE);
	while (place != NULL &&
		(place->hash != hash || place->line != line ||
			place->function_bytes != function->bytes ||
			place->file_bytes != file->bytes ||
			__builtin_memcmp(place->texts, function->data, function->bytes) != 0 ||
			__builtin_memcmp(place->texts + function->bytes, file->data, file->bytes) !=
				0))
		place = place->next;
	return place;
}

/* Locked: the place by number of the next one, in `ret_slot`. */
static bool have_room(size_t bytes, struct place ***ret_slot)
{
	const uint32_t id = places.count + 1;
	if (id > BP_PYTHON_PLACES_MAX || places.bytes + bytes > BP_PYTHON_PLACES_BYTES_MAX)
		return false;
	struct place ***block = &places.blocks[id / BLOCK_PLACES];
	if (*block == NULL)
		__atomic_store_n(
			block, bp_arena_allocate(BLOCK_PLACES * sizeof **block), __ATOMIC_RELEASE);
	if (places.buckets == NULL)
		__atomic_store_n(&places.buckets,
			bp_arena_allocate(BUCKETS * sizeof *places.buckets), __ATOMIC_RELEASE);
	if (*block == NULL || places.buckets == NULL)
		return false;
	*ret_slot = &(*block)[id % BLOCK_PLACES];
	return true;
}

/* Locked. */
static struct place *add(const struct bp_python_text *function, const struct bp_python_text *file,
	uint32_t line, uint64_t hash)
{
	struct place **slot;
	const size_t bytes = sizeof(struct place) + function->bytes + file->bytes;
	struct place *place = have_room(bytes, &slot) ? bp_arena_allocate(bytes) : NULL;
	if (place == NULL)
		return NULL;
	places.bytes += bytes;
	place->hash = hash;
	place->id = places.count + 1;
	place->line = line;
	place->function_bytes = (uint32_t)function->bytes;
	place->file_bytes = (uint32_t)file->bytes;
	__builtin_memcpy(place->texts, function->data, function->bytes);
	__builtin_memcpy(place->texts + function->bytes, file->data, file->bytes);
	struct place **bucket = &places.buckets[hash % BUCKETS];
	place->next = *bucket;
	__atomic_store_n(slot, place, __ATOMIC_RELEASE);
	__atomic_store_n(&places.count, place->id, __ATOMIC_RELEASE);
	__atomic_store_n(bucket, place, __ATOMIC_RELEASE);
	return place;
}

uint32_t bp_python_place_id(
	const struct bp_python_text *function, const struct bp_python_text *file, uint32_t line)
{
	const uint64_t hash = hash_of(function, file, line);
	struct place *place = find(function, file, line, hash);
	if (bp_likely(place != NULL))
		return place->id;
	bp_lock_take(&places.lock);
	place = find(function, file, line, hash);
	if (place == NULL)
		place = add(function, file, line, hash);
	bp_lock_release(&places.lock);
	return place == NULL ? 0 : place->id;
}

bool bp_python_place_write(uint32_t id, struct bp_writer *writer)
{
	if (id == 0 || id > BP_PYTHON_PLACES_MAX)
		return false;
	struct place **block = __atomic_load_n(&places.blocks[id / BLOCK_PLACES], __ATOMIC_ACQUIRE);
	if (block == NULL)
		return false;
	struct place *place = __atomic_load_n(&block[id % BLOCK_PLACES], __ATOMIC_ACQUIRE);
	const uint32_t generation = places.generation;
	if (place == NULL)
		return false;
	if (bp_likely(__atomic_load_n(&place->written, __ATOMIC_ACQUIRE) == generation))
		return true;
	/* Two threads may write it at a time: it may stand twice. */
	const uint64_t values[2] = { id, place->line };
	const struct bp_record_text texts[2] = { { place->texts, place->function_bytes },
		{ place->texts + place->function_bytes, place->file_bytes } };
	if (!bp_writer_names(writer, BP_TAG_FRAME, values, 2, texts, 2))
		return false;
	__atomic_store_n(&place->written, generation, __ATOMIC_RELEASE);
	return true;
}

void bp_python_places_lock(void)
{
	bp_lock_take(&places.lock);
}

void bp_python_places_unlock(void)
{
	bp_lock_release(&places.lock);
}

void bp_python_places_after_fork(void)
{
	(void)bp_lock_reset(&places.lock);
	places.generation++;
}
