/* SPDX-License-Identifier: MIT */
/*
 * An open-addressing hash table with linear probing and backward-shift deletion, so that probes stay as
 * short as on the first day. Writers hold the lock and make `version` odd meanwhile;
 * bp_host_live_contains only reads, and tries again when the version moved. A grown table leaves the old
 * one where it is, for its readers' sake: all old ones together are no larger than the new one.
 *
 * The filter has a byte for each page of 4 KiB, modulo 4 GiB. A byte that has reached its end stays there:
 * its page is asked about for ever, which costs time and is never wrong. Readers need no order: who frees
 * an object has learnt of it from who made it, after it was counted here.
 */
#include "host/live.h"

#include "base/attributes.h"

#define CAPACITY_FIRST 1024u
#define COUNT_STUCK 255u
#define MOVED_FIRST_BYTES ((size_t)64 << 10)

struct bp_host_table {
	struct bp_host_table *older;
	size_t bytes;
	uint32_t mask;
	struct bp_host_entry entries[];
};

static uint32_t home(uint64_t address, uint32_t mask)
{
	return (uint32_t)((address >> 3) * 0x9E3779B97F4A7C15u >> 32) & mask;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* ---- the filter ---- */

static uint8_t *count_of(const struct bp_host_live *live, uint64_t address)
{
	return &live->pages[(uint32_t)address >> BP_HOST_PAGE_SHIFT];
}

static void filter_add(struct bp_host_live *live, uint64_t address)
{
	uint8_t *count = count_of(live, address);
	if (*count != COUNT_STUCK)
		__atomic_store_n(count, (uint8_t)(*count + 1), __ATOMIC_RELEASE);
}

static void filter_remove(struct bp_host_live *live, uint64_t address)
{
	uint8_t *count = count_of(live, address);
	if (*count != COUNT_STUCK)
		__atomic_store_n(count, (uint8_t)(*count - 1), __ATOMIC_RELEASE);
}

/* ---- the table; all but the last of these: locked ---- */

/* Index of `address` or of the empty entry that ends its probe. */
static uint32_t probe(const struct bp_host_table *table, uint64_t address)
{
	uint32_t i = home(address, table->mask);
	for (uint32_t n = 0; n <= table->mask; n++) {
		const uint64_t found = load(&table->entries[i].address);
		if (found == address || found == 0)
			return i;
		i = (i + 1) & table->mask;
	}
	return i;
}

static void change_begin(struct bp_host_live *live)
{
	__atomic_store_n(&live->version, live->version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void change_end(struct bp_host_live *live)
{
	__atomic_store_n(&live->version, live->version + 1, __ATOMIC_RELEASE);
}

/* A table of twice the capacity, or the first. */
static bool grow(struct bp_host_live *live)
{
	const struct bp_host_table *old = live->table;
	const uint32_t capacity = old == NULL ? CAPACITY_FIRST : 2 * (old->mask + 1);
	if (capacity > 2 * BP_HOST_LIVE_MAX)
		return false;
	const size_t bytes = sizeof(struct bp_host_table) + capacity * sizeof(struct bp_host_entry);
	struct bp_host_table *table = bp_system_memory(bytes);
	if (table == NULL)
		return false;
	table->bytes = bytes;
	table->mask = capacity - 1;
	table->older = live->tables;
	live->tables = table;
	live->bytes += bytes;
	for (uint32_t i = 0; old != NULL && i <= old->mask; i++)
		if (old->entries[i].address != 0)
			table->entries[probe(table, old->entries[i].address)] = old->entries[i];
	change_begin(live);
	__atomic_store_n(&live->table, table, __ATOMIC_RELEASE);
	change_end(live);
	return true;
}

static bool insert(struct bp_host_live *live, uint64_t address, uint64_t sequence)
{
	/* At most half full, so that probes stay short. */
	const bool room = live->table != NULL && 2 * (live->count + 1) <= live->table->mask;
	if (address == 0 || live->count >= BP_HOST_LIVE_MAX || (!room && !grow(live)))
		return false;
	struct bp_host_entry *entry = &live->table->entries[probe(live->table, address)];
	if (entry->address != 0)
		return false;
	change_begin(live);
	store(&entry->sequence, sequence);
	store(&entry->address, address);
	change_end(live);
	live->count++;
	filter_add(live, address);
	return true;
}

/* Empties entry `hole` and moves back what probed past it. */
static void remove_at(struct bp_host_live *live, uint32_t hole)
{
	struct bp_host_table *table = live->table;
	uint32_t next = hole;
	change_begin(live);
	for (;;) {
		next = (next + 1) & table->mask;
		const uint64_t address = table->entries[next].address;
		if (address == 0)
			break;
		const uint32_t wish = home(address, table->mask);
		/* May it move to the hole? Only if its home is not between the hole and it. */
		if (((next - wish) & table->mask) < ((next - hole) & table->mask))
			continue;
		store(&table->entries[hole].sequence, table->entries[next].sequence);
		store(&table->entries[hole].address, address);
		hole = next;
	}
	store(&table->entries[hole].address, 0);
	change_end(live);
}

/* The sequence of what was taken out; `wanted` != 0: only if it is that one. */
static uint64_t remove_sample(struct bp_host_live *live, uint64_t address, uint64_t wanted)
{
	if (live->table == NULL || address == 0)
		return 0;
	const uint32_t i = probe(live->table, address);
	const uint64_t sequence = live->table->entries[i].sequence;
	if (live->table->entries[i].address != address || (wanted != 0 && wanted != sequence))
		return 0;
	remove_at(live, i);
	live->count--;
	filter_remove(live, address);
	return sequence;
}

bool bp_host_live_insert(struct bp_host_live *live, const void *object, uint64_t sequence)
{
	bp_lock_take(&live->lock);
	const bool inserted = insert(live, (uint64_t)object, sequence);
	bp_lock_release(&live->lock);
	return inserted;
}

uint64_t bp_host_live_remove(struct bp_host_live *live, const void *object)
{
	bp_lock_take(&live->lock);
	const uint64_t sequence = remove_sample(live, (uint64_t)object, 0);
	bp_lock_release(&live->lock);
	return sequence;
}

bool bp_host_live_remove_if(struct bp_host_live *live, const struct bp_host_entry *entry)
{
	bp_lock_take(&live->lock);
	const bool removed = remove_sample(live, entry->address, entry->sequence) != 0;
	bp_lock_release(&live->lock);
	return removed;
}

bool bp_host_live_contains(const struct bp_host_live *live, const void *object)
{
	if (object == NULL ||
		__atomic_load_n(count_of(live, (uint64_t)object), __ATOMIC_RELAXED) == 0)
		return false;
	for (int attempt = 0; attempt < 1000; attempt++) {
		const uint32_t before = __atomic_load_n(&live->version, __ATOMIC_ACQUIRE);
		const struct bp_host_table *table = __atomic_load_n(&live->table, __ATOMIC_ACQUIRE);
		if (table == NULL)
			return false;
		const uint32_t i = probe(table, (uint64_t)object);
		const bool found = load(&table->entries[i].address) == (uint64_t)object;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 && __atomic_load_n(&live->version, __ATOMIC_RELAXED) == before)
			return found;
	}
	return true; /* A writer sleeps: let the locked path decide. */
}

/* ---- moves ---- */

/* Room for one more move. */
static bool reserve_moved(struct bp_host_live *live)
{
	const size_t used = live->moved_count * sizeof *live->moved;
	if (used + sizeof *live->moved <= live->moved_bytes)
		return true;
	const size_t bytes = live->moved_bytes == 0 ? MOVED_FIRST_BYTES : 2 * live->moved_bytes;
	struct bp_host_entry *moved = bp_system_memory(bytes);
	if (moved == NULL)
		return false;
	if (live->moved != NULL) {
		__builtin_memcpy(moved, live->moved, used);
		bp_system_unmap(live->moved, live->moved_bytes);
	}
	live->bytes += bytes - live->moved_bytes;
	live->moved = moved;
	live->moved_bytes = bytes;
	return true;
}

uint64_t bp_host_live_move(
	struct bp_host_live *live, const void *from, const void *to, bool *ret_lost)
{
	*ret_lost = false;
	bp_lock_take(&live->lock);
	const uint64_t sequence = remove_sample(live, (uint64_t)from, 0);
	if (sequence != 0 && reserve_moved(live))
		live->moved[live->moved_count++] = (struct bp_host_entry){ (uint64_t)to, sequence };
	else if (sequence != 0)
		*ret_lost = true;
	bp_lock_release(&live->lock);
	return sequence;
}

bool bp_host_live_moved_next(struct bp_host_live *live, uint64_t *ret_lost)
{
	*ret_lost = 0;
	bp_lock_take(&live->lock);
	const bool there = live->moved_count > 0;
	if (there) {
		const struct bp_host_entry *entry = &live->moved[--live->moved_count];
		if (!insert(live, entry->address, entry->sequence))
			*ret_lost = entry->sequence;
	}
	bp_lock_release(&live->lock);
	return there;
}

/* ---- the whole ---- */

struct bp_host_entry *bp_host_live_copy(
	struct bp_host_live *live, uint32_t *ret_count, size_t *ret_bytes)
{
	struct bp_host_entry *copy = NULL;
	*ret_count = 0;
	bp_lock_take(&live->lock);
	if (live->count > 0) {
		*ret_bytes = live->count * sizeof *copy;
		copy = bp_system_memory(*ret_bytes);
	}
	for (uint32_t i = 0; copy != NULL && i <= live->table->mask; i++)
		if (live->table->entries[i].address != 0)
			copy[(*ret_count)++] = live->table->entries[i];
	bp_lock_release(&live->lock);
	return copy;
}

bool bp_host_live_init(struct bp_host_live *live)
{
	live->pages = bp_system_map(BP_HOST_FILTER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (live->pages == NULL)
		return false;
	(void)bp_system_advise(live->pages, BP_HOST_FILTER_BYTES, MADV_NOHUGEPAGE);
	return true;
}

void bp_host_live_finish(struct bp_host_live *live)
{
	struct bp_host_table *table = live->tables;
	while (table != NULL) {
		struct bp_host_table *older = table->older;
		bp_system_unmap(table, table->bytes);
		table = older;
	}
	if (live->moved != NULL)
		bp_system_unmap(live->moved, live->moved_bytes);
	if (live->pages != NULL)
		bp_system_unmap(live->pages, BP_HOST_FILTER_BYTES);
	*live = (struct bp_host_live){ 0 };
}
