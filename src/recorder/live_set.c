/* SPDX-License-Identifier: MIT */
/*
 * An open-addressing hash table with linear probing and backward-shift deletion (no tombstones, so
 * a program that frees large blocks for a year probes as briefly as on its first day). Writers hold
 * the lock and make `version` odd meanwhile; bp_live_contains, which every free of an unsampled
 * large object calls, only reads, and tries again when the version moved. A grown table leaves the
 * old array where it is, for its readers' sake: all the old ones together are no larger than the new
 * one.
 */
#include "recorder/live_set.h"

#include "base/attributes.h"
#include "base/lock.h"
#include "recorder/arena.h"
#include "recorder/filter.h"

#define CAPACITY_FIRST 1024u

struct entry {
	uint64_t address; /* 0: empty */
	uint64_t sequence;
};

static struct {
	struct bp_lock lock;
	uint32_t version;
	uint32_t count;
	struct table {
		uint32_t mask;
		struct entry entries[];
	} * table;
} live;

static uint32_t home(uint64_t address, uint32_t mask)
{
	return (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15u >> 32) & mask;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Index of `address` or of the empty entry that ends its probe. */
static uint32_t probe(const struct table *table, uint64_t address)
{
	uint32_t i = home(address, table->mask);
	for (uint32_t n = 0; n <= table->mask; n++) {
		uint64_t found = load(&table->entries[i].address);
		if (found == address || found == 0)
			return i;
		i = (i + 1) & table->mask;
	}
	return i;
}

static void change_begin(void)
{
	__atomic_store_n(&live.version, live.version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void change_end(void)
{
	__atomic_store_n(&live.version, live.version + 1, __ATOMIC_RELEASE);
}

/* Locked. A table of twice the capacity, or the first. */
static bool grow(void)
{
	struct table *old = live.table;
	uint32_t capacity = old == NULL ? CAPACITY_FIRST : 2 * (old->mask + 1);
	if (capacity > 2 * BP_LIVE_MAX)
		return false;
	struct table *table = bp_arena_allocate(sizeof *table + capacity * sizeof(struct entry));
	if (table == NULL)
		return false;
	table->mask = capacity - 1;
	for (uint32_t i = 0; old != NULL && i <= old->mask; i++)
		if (old->entries[i].address != 0)
			table->entries[probe(table, old->entries[i].address)] = old->entries[i];
	change_begin();
	__atomic_store_n(&live.table, table, __ATOMIC_RELEASE);
	change_end();
	return true;
}

bool bp_live_insert(const void *object, uint64_t sequence)
{
	bp_lock_take(&live.lock);
	/* At most half full, so that probes stay short. */
	bool room = live.table != NULL && 2 * (live.count + 1) <= live.table->mask;
	if ((room || grow()) && live.count < BP_LIVE_MAX) {
		struct entry *entry = &live.table->entries[probe(live.table, (uint64_t)object)];
		change_begin();
		if (entry->address == 0) {
			live.count++;
			bp_filter_add((uint64_t)object);
		}
		store(&entry->sequence, sequence);
		store(&entry->address, (uint64_t)object);
		change_end();
		room = true;
	} else {
		room = false;
	}
	bp_lock_release(&live.lock);
	return room;
}

bool bp_live_contains(const void *object)
{
	if (object == NULL) /* an empty entry has this address */
		return false;
	for (int attempt = 0; attempt < 1000; attempt++) {
		uint32_t before = __atomic_load_n(&live.version, __ATOMIC_ACQUIRE);
		const struct table *table = __atomic_load_n(&live.table, __ATOMIC_ACQUIRE);
		if (table == NULL)
			return false;
		uint32_t i = probe(table, (uint64_t)object);
		bool found = load(&table->entries[i].address) == (uint64_t)object;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 && __atomic_load_n(&live.version, __ATOMIC_RELAXED) == before)
			return found;
	}
	return true; /* A writer sleeps: let the locked path decide. */
}

/* Locked. Empties entry `hole` and moves back what probed past it. */
static void remove_at(struct table *table, uint32_t hole)
{
	uint32_t next = hole;
	change_begin();
	for (;;) {
		next = (next + 1) & table->mask;
		uint64_t address = table->entries[next].address;
		if (address == 0)
			break;
		uint32_t wish = home(address, table->mask);
		/* May it move to the hole? Only if its home is not between the hole and it. */
		if (((next - wish) & table->mask) < ((next - hole) & table->mask))
			continue;
		store(&table->entries[hole].sequence, table->entries[next].sequence);
		store(&table->entries[hole].address, address);
		hole = next;
	}
	store(&table->entries[hole].address, 0);
	change_end();
}

static uint64_t remove_locked(const void *object)
{
	if (live.table == NULL)
		return 0;
	uint32_t i = probe(live.table, (uint64_t)object);
	if (live.table->entries[i].address != (uint64_t)object)
		return 0;
	uint64_t sequence = live.table->entries[i].sequence;
	remove_at(live.table, i);
	live.count--;
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
	return __atomic_load_n(&live.count, __ATOMIC_RELAXED);
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
		live.table = NULL;
		live.count = 0;
	}
	live.version = (live.version + 1) & ~1u;
}
