/* SPDX-License-Identifier: MIT */
/*
 * Buckets of linked entries, pushed by compare-and-swap and never removed, as in
 * unwind/stack_table.c. An entry that a second thread pushes at the same time is a second number
 * for one stack, which the format allows.
 */
#include "python/mixed_stack.h"

#include "base/attributes.h"
#include "python/frame_names.h"
#include "python/interpreter.h"
#include "tables/arena.h"
#include "trace/writer/writer.h"
#include "unwind/stack_table.h"

#define BUCKETS 16384u

struct entry {
	struct entry *next; /* in its bucket */
	uint64_t hash;
	uint32_t id, native, depth;
	uint32_t written; /* generation of the trace that has it */
	bool cut;
	uint32_t numbers[]; /* depth places, then depth positions */
};

static struct {
	struct entry **buckets;
	uint32_t generation;
	uint64_t bytes;
} table = { .generation = 1 };

static struct entry **buckets_now(void)
{
	struct entry **buckets = __atomic_load_n(&table.buckets, __ATOMIC_ACQUIRE);
	if (bp_likely(buckets != NULL))
		return buckets;
	struct entry **fresh = bp_arena_allocate(BUCKETS * sizeof *fresh);
	if (fresh == NULL)
		return NULL;
	return __atomic_compare_exchange_n(
		       &table.buckets, &buckets, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		       ? fresh
		       : buckets;
}

static uint64_t hash_of(const struct bp_python_walk *walk, uint32_t native)
{
	const size_t bytes = walk->depth * sizeof *walk->places;
	const uint64_t words[3] = { bp_checksum(walk->places, bytes),
		bp_checksum(walk->positions, bytes), (uint64_t)native << 1 | walk->cut };
	return bp_checksum(words, sizeof words);
}

static struct entry *find(
	struct entry *entry, const struct bp_python_walk *walk, uint32_t native, uint64_t hash)
{
	const size_t bytes = walk->depth * sizeof *walk->places;
	while (entry != NULL &&
		(entry->hash != hash || entry->native != native || entry->depth != walk->depth ||
			entry->cut != walk->cut ||
			__builtin_memcmp(entry->numbers, walk->places, bytes) != 0 ||
			__builtin_memcmp(entry->numbers + walk->depth, walk->positions, bytes) !=
				0))
		entry = entry->next;
	return entry;
}

static struct entry *make_entry(const struct bp_python_walk *walk, uint32_t native, uint64_t hash)
{
	const size_t half = walk->depth * sizeof *walk->places;
	const size_t bytes = sizeof(struct entry) + 2 * half;
	if (__atomic_add_fetch(&table.bytes, bytes, __ATOMIC_RELAXED) > BP_MIXED_STACK_MAX_BYTES) {
		__atomic_fetch_sub(&table.bytes, bytes, __ATOMIC_RELAXED);
		return NULL;
	}
	struct entry *entry = bp_arena_allocate(bytes);
	if (entry == NULL)
		return NULL;
	entry->hash = hash;
	entry->id = bp_stack_table_next_id();
	entry->native = native;
	entry->depth = walk->depth;
	entry->cut = walk->cut;
	__builtin_memcpy(entry->numbers, walk->places, half);
	__builtin_memcpy(entry->numbers + walk->depth, walk->positions, half);
	return entry;
}

static struct entry *intern(const struct bp_python_walk *walk, uint32_t native)
{
	struct entry **buckets = buckets_now();
	if (buckets == NULL)
		return NULL;
	const uint64_t hash = hash_of(walk, native);
	struct entry **bucket = &buckets[hash % BUCKETS];
	struct entry *head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	struct entry *entry = find(head, walk, native, hash);
	if (bp_likely(entry != NULL))
		return entry;
	entry = make_entry(walk, native, hash);
	if (entry == NULL)
		return NULL;
	entry->next = head;
	while (!__atomic_compare_exchange_n(
		bucket, &entry->next, entry, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return entry;
}

static bool write_entry(struct bp_writer *writer, const struct entry *entry)
{
	for (uint32_t i = 0; i < entry->depth; i++)
		if (!bp_python_place_write(entry->numbers[i], writer))
			return false;
	return bp_writer_mixed_stack(writer, entry->id, entry->native,
		entry->cut ? BP_STACK_CUT : 0, entry->depth, entry->numbers,
		entry->numbers + entry->depth);
}

uint32_t bp_mixed_stack_id(struct bp_writer *writer, const struct bp_stack_capture *native,
	struct bp_python_walk **walk, bool holds_gil)
{
	const uint32_t native_id = bp_stack_table_id(writer, native);
	if (*walk == NULL)
		*walk = bp_arena_allocate(sizeof **walk);
	if (native_id == 0 || *walk == NULL)
		return native_id;
	bp_python_walk(*walk, native, holds_gil, writer);
	if ((*walk)->depth == 0)
		return native_id;
	struct entry *entry = intern(*walk, native_id);
	if (entry == NULL) {
		bp_writer_lost(writer, BP_LOSS_STACK_TABLE);
		return native_id;
	}
	const uint32_t generation = table.generation;
	if (bp_unlikely(__atomic_load_n(&entry->written, __ATOMIC_ACQUIRE) != generation)) {
		if (!write_entry(writer, entry)) {
			bp_writer_lost(writer, BP_LOSS_NAME);
			return native_id;
		}
		__atomic_store_n(&entry->written, generation, __ATOMIC_RELEASE);
	}
	return entry->id;
}

void bp_mixed_stack_after_fork(void)
{
	table.generation++;
}
