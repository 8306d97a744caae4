/* SPDX-License-Identifier: MIT */
/*
 * Buckets of singly linked entries, pushed by compare-and-swap and never removed; an entry is
 * immutable but for two flags. An entry's record reaches the trace before its id is used, by
 * whichever thread needs it first: should two write it, the format allows that. After a fork the
 * entries stay, with the ids they have, and are written again into the child's trace when used
 * (`generation` tells whose trace they are in).
 */
#include "unwind/stack_table.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "tables/arena.h"
#include "trace/writer.h"
#include "unwind/modules.h"

#define BUCKETS 32768u
/* Memory for distinct stacks is bounded: about 240 bytes each at 28 frames. */
#define TABLE_BYTES_MAX ((uint64_t)256 << 20)

struct entry {
	struct entry *next;
	uint64_t hash;
	uint32_t id, depth, flags;
	uint32_t written; /* generation of the trace that has it */
	bool dead;	  /* one of its modules is gone */
	uint8_t exact_mask[BP_STACK_MAX_DEPTH / 8];
	uint64_t pcs[];
};

static struct {
	struct entry **buckets;
	uint32_t last_id, generation;
	uint64_t bytes;
} table = { .generation = 1 };

static inline uint64_t hash_step(uint64_t hash, uint64_t pc)
{
	hash = (hash ^ pc) * 0xFF51AFD7ED558CCDu;
	return hash ^ hash >> 32;
}

/* Four hashes of every fourth frame each, which the processor computes side by side, and one of
 * them. */
static uint64_t hash_of(const struct bp_stack_capture *capture)
{
	const uint64_t first = capture->depth ^ (uint64_t)capture->flags << 32;
	uint64_t lanes[4] = { first, first + 1, first + 2, first + 3 };
	uint32_t i = 0;
	for (; i + 4 <= capture->depth; i += 4)
		for (uint32_t lane = 0; lane < 4; lane++)
			lanes[lane] = hash_step(lanes[lane], capture->pcs[i + lane]);
	for (; i < capture->depth; i++)
		lanes[i % 4] = hash_step(lanes[i % 4], capture->pcs[i]);
	return hash_step(hash_step(hash_step(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

static bool equals(const struct entry *entry, const struct bp_stack_capture *capture, uint64_t hash)
{
	return entry->hash == hash && entry->depth == capture->depth &&
	       entry->flags == capture->flags && !__atomic_load_n(&entry->dead, __ATOMIC_RELAXED) &&
	       __builtin_memcmp(entry->exact_mask, capture->exact_mask, sizeof entry->exact_mask) ==
		       0 &&
	       __builtin_memcmp(entry->pcs, capture->pcs, capture->depth * sizeof *entry->pcs) == 0;
}

static struct entry *make_entry(const struct bp_stack_capture *capture, uint64_t hash)
{
	size_t bytes = sizeof(struct entry) + capture->depth * sizeof(uint64_t);
	/* What is refused is not counted: a smaller stack may still fit. */
	uint64_t taken = __atomic_load_n(&table.bytes, __ATOMIC_RELAXED);
	do {
		if (bytes > TABLE_BYTES_MAX - taken)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		&table.bytes, &taken, taken + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	struct entry *entry = bp_arena_allocate(bytes);
	if (entry == NULL) {
		__atomic_fetch_sub(&table.bytes, bytes, __ATOMIC_RELAXED);
		return NULL;
	}
	entry->hash = hash;
	entry->id = __atomic_add_fetch(&table.last_id, 1, __ATOMIC_RELAXED);
	entry->depth = capture->depth;
	entry->flags = capture->flags;
	__builtin_memcpy(entry->exact_mask, capture->exact_mask, sizeof entry->exact_mask);
	__builtin_memcpy(entry->pcs, capture->pcs, capture->depth * sizeof *entry->pcs);
	return entry;
}

static struct entry *find(
	struct entry *entry, const struct bp_stack_capture *capture, uint64_t hash)
{
	while (entry != NULL && !equals(entry, capture, hash))
		entry = entry->next;
	return entry;
}

static struct entry **buckets_of_table(void)
{
	struct entry **buckets = __atomic_load_n(&table.buckets, __ATOMIC_ACQUIRE);
	if (bp_likely(buckets != NULL))
		return buckets;
	struct entry **fresh = bp_arena_allocate(BUCKETS * sizeof *fresh);
	/* Two threads may come here at once: one array wins, the other is waste. */
	if (fresh != NULL && __atomic_compare_exchange_n(&table.buckets, &buckets, fresh, false,
				     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return fresh;
	return buckets;
}

/* The entry of the stack, inserted if it is new; NULL when there is no room. */
static struct entry *intern(const struct bp_stack_capture *capture)
{
	const uint64_t hash = hash_of(capture);
	struct entry **buckets = buckets_of_table();
	if (buckets == NULL)
		return NULL;
	struct entry **bucket = &buckets[hash % BUCKETS];
	struct entry *head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	struct entry *entry = find(head, capture, hash);
	if (entry != NULL)
		return entry;
	struct entry *fresh = make_entry(capture, hash);
	if (fresh == NULL)
		return NULL;
	do {
		fresh->next = head;
	} while (!__atomic_compare_exchange_n(
		bucket, &head, fresh, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
	return fresh;
}

uint32_t bp_stack_table_id(struct bp_writer *writer, const struct bp_stack_capture *capture)
{
	struct entry *entry = intern(capture);
	if (entry == NULL) {
		bp_writer_lost(writer, BP_LOSS_STACK_TABLE);
		return 0;
	}
	const uint32_t generation = table.generation;
	if (bp_unlikely(__atomic_load_n(&entry->written, __ATOMIC_ACQUIRE) != generation)) {
		bp_modules_note(writer, entry->pcs, entry->depth);
		if (!bp_writer_stack(writer, entry->id, entry->flags, bp_modules_epoch(),
			    entry->depth, entry->pcs, entry->exact_mask)) {
			bp_writer_lost(writer, BP_LOSS_STACK_TABLE);
			return 0;
		}
		__atomic_store_n(&entry->written, generation, __ATOMIC_RELEASE);
	}
	return entry->id;
}

void bp_stack_table_forget(uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; table.buckets != NULL && i < BUCKETS; i++) {
		struct entry *entry = __atomic_load_n(&table.buckets[i], __ATOMIC_ACQUIRE);
		for (; entry != NULL; entry = entry->next)
			for (uint32_t k = 0; k < entry->depth; k++)
				if (entry->pcs[k] >= start && entry->pcs[k] < end)
					__atomic_store_n(&entry->dead, true, __ATOMIC_RELAXED);
	}
}

void bp_stack_table_after_fork(void)
{
	table.generation++;
}
