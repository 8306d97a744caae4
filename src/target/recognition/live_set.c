/* SPDX-License-Identifier: MIT */
/*
 * Sixteen address_table.h of the recorder's own memory, each behind a lock: over a foreign malloc
 * all samples of all threads come here. Which of them is chosen by the page, so that a page's count
 * in filter.h is changed under one lock.
 */
#include "recognition/live_set.h"

#include "base/lock.h"
#include "recognition/filter.h"
#include "tables/arena.h"

#define PARTS_LOG2 4
#define PARTS (1u << PARTS_LOG2)

struct part {
	struct bp_lock lock;
	struct bp_address_table table;
} __attribute__((aligned(64))); /* threads write to several at a time */

static struct {
	struct part parts[PARTS];
	uint32_t count; /* in all */
} live;

_Static_assert(BP_LIVE_MAX <= BP_ADDRESS_TABLE_MAX, "one part may hold them all");

static struct part *part_of(const void *object)
{
	const uint32_t page = (uint32_t)(uintptr_t)object >> BP_FILTER_PAGE_SHIFT;
	return &live.parts[(page * 0x9E3779B1u) >> (32 - PARTS_LOG2)];
}

/* Locked. Room for one more? */
static bool make_room(struct bp_address_table *table)
{
	const size_t bytes = bp_address_table_wants(table);
	if (__atomic_load_n(&live.count, __ATOMIC_RELAXED) >= BP_LIVE_MAX || bytes == SIZE_MAX)
		return false;
	if (bytes == 0)
		return true;
	void *memory = bp_arena_allocate(bytes);
	if (memory != NULL)
		bp_address_table_grow(table, memory);
	return memory != NULL;
}

bool bp_live_insert(const void *object, uint64_t sequence)
{
	struct part *part = part_of(object);
	bp_lock_take(&part->lock);
	const bool room = make_room(&part->table);
	if (room && bp_address_table_put(&part->table, (uint64_t)object, sequence)) {
		__atomic_fetch_add(&live.count, 1, __ATOMIC_RELAXED);
		bp_filter_add((uint64_t)object);
	}
	bp_lock_release(&part->lock);
	return room;
}

bool bp_live_contains(const void *object)
{
	return bp_address_table_has(&part_of(object)->table, (uint64_t)object);
}

static uint64_t remove_locked(struct part *part, const void *object)
{
	const uint64_t sequence = bp_address_table_find(&part->table, (uint64_t)object);
	if (sequence == 0)
		return 0;
	bp_address_table_remove(&part->table, (uint64_t)object);
	__atomic_fetch_sub(&live.count, 1, __ATOMIC_RELAXED);
	bp_filter_remove((uint64_t)object);
	return sequence;
}

uint64_t bp_live_remove(const void *object)
{
	struct part *part = part_of(object);
	bp_lock_take(&part->lock);
	uint64_t sequence = remove_locked(part, object);
	bp_lock_release(&part->lock);
	return sequence;
}

uint64_t bp_live_try_remove(const void *object)
{
	struct part *part = part_of(object);
	if (!bp_lock_try(&part->lock))
		return 0;
	uint64_t sequence = remove_locked(part, object);
	bp_lock_release(&part->lock);
	return sequence;
}

uint32_t bp_live_count(void)
{
	return __atomic_load_n(&live.count, __ATOMIC_RELAXED);
}

void bp_live_lock(void)
{
	for (uint32_t i = 0; i < PARTS; i++)
		bp_lock_take(&live.parts[i].lock);
}

void bp_live_unlock(void)
{
	for (uint32_t i = PARTS; i-- > 0;)
		bp_lock_release(&live.parts[i].lock);
}

void bp_live_forget(void)
{
	for (uint32_t i = 0; i < PARTS; i++) {
		struct part *part = &live.parts[i];
		struct bp_address_table *table = &part->table;
		bp_lock_take(&part->lock);
		/* What a removal moves back may come to lie behind `place`: until none is left. */
		while (table->count > 0)
			for (uint32_t place = 0; place <= table->array->mask; place++)
				if (table->array->entries[place].address != 0)
					(void)remove_locked(part,
						(const void *)table->array->entries[place].address);
		bp_lock_release(&part->lock);
	}
}

void bp_live_after_fork(void)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < PARTS; i++) {
		struct bp_address_table *table = &live.parts[i].table;
		if (bp_lock_reset(&live.parts[i].lock)) {
			/* Half changed: forget it. Frees of what was in it go unrecorded in the
			 * child. */
			table->array = NULL;
			table->count = 0;
		}
		table->version = (table->version + 1) & ~1u;
		count += table->count;
	}
	live.count = count;
}
