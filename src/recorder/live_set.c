/* SPDX-License-Identifier: MIT */
/* An address_table.h of the recorder's own memory, behind a lock. */
#include "recorder/live_set.h"

#include "base/lock.h"
#include "recorder/arena.h"
#include "recorder/filter.h"

static struct {
	struct bp_lock lock;
	struct bp_address_table table;
} live;

/* Locked. Room for one more? */
static bool make_room(void)
{
	const size_t bytes = bp_address_table_wants(&live.table);
	if (bytes == 0)
		return true;
	void *memory = bytes == SIZE_MAX ? NULL : bp_arena_allocate(bytes);
	if (memory != NULL)
		bp_address_table_grow(&live.table, memory);
	return memory != NULL;
}

bool bp_live_insert(const void *object, uint64_t sequence)
{
	bp_lock_take(&live.lock);
	const bool room = make_room();
	if (room && bp_address_table_put(&live.table, (uint64_t)object, sequence))
		bp_filter_add((uint64_t)object);
	bp_lock_release(&live.lock);
	return room;
}

bool bp_live_contains(const void *object)
{
	return bp_address_table_has(&live.table, (uint64_t)object);
}

static uint64_t remove_locked(const void *object)
{
	const uint64_t sequence = bp_address_table_find(&live.table, (uint64_t)object);
	if (sequence == 0)
		return 0;
	bp_address_table_remove(&live.table, (uint64_t)object);
	bp_filter_remove((uint64_t)object);
	return sequence;
}

uint64_t bp_live_remove(const void *object)
{
	bp_lock_take(&live.lock);
	uint64_t sequence = remove_locked(object);
	bp_lock_release(&live.lock);
	return sequence;
}

uint64_t bp_live_try_remove(const void *object)
{
	if (!bp_lock_try(&live.lock))
		return 0;
	uint64_t sequence = remove_locked(object);
	bp_lock_release(&live.lock);
	return sequence;
}

uint32_t bp_live_count(void)
{
	return __atomic_load_n(&live.table.count, __ATOMIC_RELAXED);
}

void bp_live_lock(void)
{
	bp_lock_take(&live.lock);
}

void bp_live_unlock(void)
{
	bp_lock_release(&live.lock);
}

void bp_live_after_fork(void)
{
	if (bp_lock_reset(&live.lock)) {
		/* Half changed: forget it. Frees of what was in it go unrecorded in the child. */
		live.table.array = NULL;
		live.table.count = 0;
	}
	live.table.version = (live.table.version + 1) & ~1u;
}
