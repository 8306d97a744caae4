/* SPDX-License-Identifier: MIT */
/*
 * Buckets of singly linked entries, pushed by compare-and-swap and never removed; an entry is
 * immutable but for its link and two flags. An entry's record reaches the trace before its id is
 * used, by whichever thread needs it first: should two write it, the format allows that. After a
 * fork the entries stay, with the ids they have, and are written again into the child's trace when
 * used (`generation` says whose trace they are in).
 *
 * Where there are more entries than buckets, the index grows: a new one with four times as many
 * buckets is published, and every insertion moves some buckets of the old one. Until all are moved
 * a stack is looked up in both. No thread waits for another: while a thread moves a bucket, its
 * entries may be in neither index, and a stack that is not found gets a second entry with a number
 * of its own, which the format allows, too. An entry that a reader stands on may be moved away
 * under it; the reader then goes on along a chain of the new index, and comes to its end.
 */
#include "unwind/stack_table.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "tables/arena.h"
#include "trace/writer/writer.h"
#include "unwind/modules.h"

/* A page: each stack of a process that has few would touch another page of a large index for the
 * first time, which costs more than the sample, in each child of a fork anew. */
#define BUCKETS_AT_FIRST 512u
#define GROWTH 4u
/* Buckets that an insertion moves: all are moved long before the next growth. */
#define MOVED_AT_ONCE 4u

struct entry {
	struct entry *next;    /* in its bucket */
	struct entry *earlier; /* in the list of all entries */
	uint64_t hash;
	uint32_t id, depth, flags;
	uint32_t written; /* generation of the trace that has it */
	bool dead;	  /* one of its modules is gone */
	uint8_t exact_mask[BP_STACK_MAX_DEPTH / 8];
	uint64_t pcs[];
};

struct index {
	struct index *older; /* whose buckets are being moved here; NULL: none */
	uint32_t count;	     /* of buckets, a power of two */
	uint32_t next_move;  /* the first bucket of `older` that no thread has begun to move */
	struct entry *buckets[];
};

static struct {
	struct index *index;
	struct entry *last; /* the newest of all entries */
	uint32_t last_id, generation;
	bool growing; /* a thread makes a larger index */
	uint64_t bytes;
} table = { .generation = 1 };

/* In a bucket of an older index: its entries are in the newer one, or on the way there. */
static struct entry moved;

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

/* Claims bytes of the table's bound. What is refused is not counted: a smaller stack may still
 * fit. */
static void *allocate(size_t bytes)
{
	uint64_t taken = __atomic_load_n(&table.bytes, __ATOMIC_RELAXED);
	do {
		if (bytes > BP_STACK_TABLE_MAX_BYTES - taken)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		&table.bytes, &taken, taken + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	void *memory = bp_arena_allocate(bytes);
	if (memory == NULL)
		__atomic_fetch_sub(&table.bytes, bytes, __ATOMIC_RELAXED);
	return memory;
}

uint32_t bp_stack_table_next_id(void)
{
	return __atomic_add_fetch(&table.last_id, 1, __ATOMIC_RELAXED);
}

static struct entry *make_entry(const struct bp_stack_capture *capture, uint64_t hash)
{
	struct entry *entry = allocate(sizeof(struct entry) + capture->depth * sizeof(uint64_t));
	if (entry == NULL)
		return NULL;
	entry->hash = hash;
	entry->id = bp_stack_table_next_id();
	entry->depth = capture->depth;
	entry->flags = capture->flags;
	__builtin_memcpy(entry->exact_mask, capture->exact_mask, sizeof entry->exact_mask);
	__builtin_memcpy(entry->pcs, capture->pcs, capture->depth * sizeof *entry->pcs);
	entry->earlier = __atomic_load_n(&table.last, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(
		&table.last, &entry->earlier, entry, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return entry;
}

static struct index *make_index(uint32_t count, struct index *older)
{
	struct index *index = allocate(sizeof *index + count * sizeof *index->buckets);
	if (index == NULL)
		return NULL;
	index->count = count;
	index->older = older;
	return index;
}

/* The newest index; NULL: no memory. */
static struct index *index_now(void)
{
	struct index *index = __atomic_load_n(&table.index, __ATOMIC_ACQUIRE);
	if (bp_likely(index != NULL))
		return index;
	struct index *fresh = make_index(BUCKETS_AT_FIRST, NULL);
	/* Two threads may come here at once: one index wins, the other is waste. */
	if (fresh != NULL && __atomic_compare_exchange_n(&table.index, &index, fresh, false,
				     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return fresh;
	return index;
}

static struct entry **bucket_of(struct index *index, uint64_t hash)
{
	return &index->buckets[hash & (index->count - 1)];
}

static struct entry *find(
	struct entry *entry, const struct bp_stack_capture *capture, uint64_t hash)
{
	while (entry != NULL && !equals(entry, capture, hash))
		entry = __atomic_load_n(&entry->next, __ATOMIC_ACQUIRE);
	return entry;
}

/* Puts an entry into `index`, or into the newest one if `index` is that no more. */
static void push(struct index *index, struct entry *entry)
{
	struct entry **bucket = bucket_of(index, entry->hash);
	struct entry *head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
	do {
		while (head == &moved) {
			index = __atomic_load_n(&table.index, __ATOMIC_ACQUIRE);
			bucket = bucket_of(index, entry->hash);
			head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
		}
		__atomic_store_n(&entry->next, head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(
		bucket, &head, entry, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
}

/* Moves some buckets of the older index. When none is left to begin with, the older index is looked
 * up no more. */
static void move_some(struct index *index, struct index *older)
{
	uint32_t i = __atomic_fetch_add(&index->next_move, MOVED_AT_ONCE, __ATOMIC_RELAXED);
	const uint32_t end = i + MOVED_AT_ONCE;
	if (i >= older->count) {
		__atomic_store_n(&index->older, NULL, __ATOMIC_RELEASE);
		return;
	}
	for (; i < end; i++) {
		struct entry *next,
			*entry = __atomic_exchange_n(&older->buckets[i], &moved, __ATOMIC_ACQ_REL);
		for (; entry != NULL; entry = next) {
			next = entry->next;
			push(index, entry);
		}
	}
}

/* Called after an insertion. */
static void tend(struct index *index)
{
	struct index *older = __atomic_load_n(&index->older, __ATOMIC_ACQUIRE);
	if (older != NULL) {
		move_some(index, older);
		return;
	}
	if (bp_likely(__atomic_load_n(&table.last_id, __ATOMIC_RELAXED) <= index->count) ||
		index->count > UINT32_MAX / 2 / GROWTH ||
		__atomic_exchange_n(&table.growing, true, __ATOMIC_ACQUIRE))
		return;
	if (index == __atomic_load_n(&table.index, __ATOMIC_RELAXED)) {
		struct index *fresh = make_index(index->count * GROWTH, index);
		if (fresh != NULL)
			__atomic_store_n(&table.index, fresh, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&table.growing, false, __ATOMIC_RELEASE);
}

/* The entry of the stack in the newest index, or in the one before it; NULL: there is none. */
static struct entry *look_up(
	struct index *index, const struct bp_stack_capture *capture, uint64_t hash)
{
	struct index *older = __atomic_load_n(&index->older, __ATOMIC_ACQUIRE);
	struct entry *head = __atomic_load_n(bucket_of(index, hash), __ATOMIC_ACQUIRE);
	struct entry *entry = head == &moved ? NULL : find(head, capture, hash);
	if (bp_likely(entry != NULL || older == NULL))
		return entry;
	head = __atomic_load_n(bucket_of(older, hash), __ATOMIC_ACQUIRE);
	if (head != &moved)
		return find(head, capture, hash);
	/* Moved since we looked into the newest index, it may be. */
	head = __atomic_load_n(bucket_of(index, hash), __ATOMIC_ACQUIRE);
	return head == &moved ? NULL : find(head, capture, hash);
}

/* The entry of the stack, inserted if it is new; NULL when there is no room. */
static struct entry *intern(const struct bp_stack_capture *capture)
{
	const uint64_t hash = hash_of(capture);
	struct index *index = index_now();
	if (index == NULL)
		return NULL;
	struct entry *entry = look_up(index, capture, hash);
	if (bp_likely(entry != NULL))
		return entry;
	entry = make_entry(capture, hash);
	if (entry == NULL)
		return NULL;
	push(index, entry);
	tend(index);
	return entry;
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
	struct entry *entry = __atomic_load_n(&table.last, __ATOMIC_ACQUIRE);
	for (; entry != NULL; entry = entry->earlier)
		for (uint32_t k = 0; k < entry->depth; k++)
			if (entry->pcs[k] >= start && entry->pcs[k] < end)
				__atomic_store_n(&entry->dead, true, __ATOMIC_RELAXED);
}

void bp_stack_table_after_fork(void)
{
	table.generation++;
	table.growing = false; /* by a thread of the parent */
}

uint64_t bp_stack_table_bytes(void)
{
	return __atomic_load_n(&table.bytes, __ATOMIC_RELAXED);
}
