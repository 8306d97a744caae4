/* SPDX-License-Identifier: MIT */
/*
 * From an object's address to the number of its sample, inside the target: an open-addressing hash
 * table with linear probing and backward-shift deletion (no tombstones, so a program that frees for
 * a year probes as briefly as on its first day). Writers, of whom the caller lets in one at a time,
 * make `version` odd meanwhile; bp_address_table_has, which a free of an unsampled object calls,
 * only reads, and tries again when the version moved. A grown table leaves the old array where it
 * is, for its readers' sake: all the old ones together are no larger than the new one. The owner
 * gives the memory.
 *
 * Zeroed memory is an empty table. No address is 0, no sequence is 0. Usable inside the target.
 */
#ifndef BP_BASE_ADDRESS_TABLE_H
#define BP_BASE_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most entries. */
#define BP_ADDRESS_TABLE_MAX ((uint32_t)1 << 22)
#define BP_ADDRESS_TABLE_FIRST 1024u /* places of the first array */

struct bp_address_entry {
	uint64_t address; /* 0: empty */
	uint64_t sequence;
};

struct bp_address_array {
	uint32_t mask; /* places - 1 */
	struct bp_address_entry entries[];
};

struct bp_address_table {
	uint32_t version; /* odd while it changes */
	uint32_t count;
	struct bp_address_array *array;
};

static inline uint64_t bp_address_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void bp_address_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t bp_address_home(uint64_t address, uint32_t mask)
{
	return (uint32_t)((address >> 3) * 0x9E3779B97F4A7C15u >> 32) & mask;
}

/* Index of `address` or of the empty entry that ends its probe. */
static inline uint32_t bp_address_probe(const struct bp_address_array *array, uint64_t address)
{
	uint32_t i = bp_address_home(address, array->mask);
	for (uint32_t n = 0; n <= array->mask; n++) {
		const uint64_t found = bp_address_load(&array->entries[i].address);
		if (found == address || found == 0)
			return i;
		i = (i + 1) & array->mask;
	}
	return i;
}

static inline void bp_address_change_begin(struct bp_address_table *table)
{
	__atomic_store_n(&table->version, table->version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void bp_address_change_end(struct bp_address_table *table)
{
	__atomic_store_n(&table->version, table->version + 1, __ATOMIC_RELEASE);
}

/* Bytes of zeroed memory that bp_address_table_grow wants before one more entry finds room:
 * arrays are at most half full, so that probes stay short. 0: it has room. SIZE_MAX: it is full
 * for good. */
static inline size_t bp_address_table_wants(const struct bp_address_table *table)
{
	const struct bp_address_array *array = table->array;
	if (table->count >= BP_ADDRESS_TABLE_MAX)
		return SIZE_MAX;
	if (array != NULL && 2 * (table->count + 1) <= array->mask)
		return 0;
	const uint32_t places = array == NULL ? BP_ADDRESS_TABLE_FIRST : 2 * (array->mask + 1);
	if (places > 2 * BP_ADDRESS_TABLE_MAX)
		return SIZE_MAX;
	return sizeof(struct bp_address_array) + places * sizeof(struct bp_address_entry);
}

/* Moves into `memory`, as many zeroed bytes as bp_address_table_wants said. The old array stays. */
static inline void bp_address_table_grow(struct bp_address_table *table, void *memory)
{
	const struct bp_address_array *old = table->array;
	struct bp_address_array *array = (struct bp_address_array *)memory;
	array->mask = (old == NULL ? BP_ADDRESS_TABLE_FIRST : 2 * (old->mask + 1)) - 1;
	for (uint32_t i = 0; old != NULL && i <= old->mask; i++)
		if (old->entries[i].address != 0)
			array->entries[bp_address_probe(array, old->entries[i].address)] =
				old->entries[i];
	bp_address_change_begin(table);
	__atomic_store_n(&table->array, array, __ATOMIC_RELEASE);
	bp_address_change_end(table);
}

/* By a writer: the sequence of `address`; 0: it is not there. */
static inline uint64_t bp_address_table_find(const struct bp_address_table *table, uint64_t address)
{
	if (table->array == NULL || address == 0)
		return 0;
	const struct bp_address_entry *entry =
		&table->array->entries[bp_address_probe(table->array, address)];
	return entry->address == address ? entry->sequence : 0;
}

/* Enters `address`, or gives it another sequence; there is room. False: it was there. */
static inline bool bp_address_table_put(
	struct bp_address_table *table, uint64_t address, uint64_t sequence)
{
	struct bp_address_entry *entry =
		&table->array->entries[bp_address_probe(table->array, address)];
	const bool is_new = entry->address == 0;
	bp_address_change_begin(table);
	bp_address_store(&entry->sequence, sequence);
	bp_address_store(&entry->address, address);
	bp_address_change_end(table);
	table->count += is_new;
	return is_new;
}

/* Takes `address`, which is there, out, and moves back what probed past it. */
static inline void bp_address_table_remove(struct bp_address_table *table, uint64_t address)
{
	struct bp_address_array *array = table->array;
	uint32_t hole = bp_address_probe(array, address), next = hole;
	bp_address_change_begin(table);
	for (;;) {
		next = (next + 1) & array->mask;
		const uint64_t moved = array->entries[next].address;
		if (moved == 0)
			break;
		const uint32_t wish = bp_address_home(moved, array->mask);
		/* May it move to the hole? Only if its home is not between the hole and it. */
		if (((next - wish) & array->mask) < ((next - hole) & array->mask))
			continue;
		bp_address_store(&array->entries[hole].sequence, array->entries[next].sequence);
		bp_address_store(&array->entries[hole].address, moved);
		hole = next;
	}
	bp_address_store(&array->entries[hole].address, 0);
	bp_address_change_end(table);
	table->count--;
}

/* Without being let in, also by a signal handler: is `address` there? Never wrong about an object
 * of the caller's own. */
static inline bool bp_address_table_has(const struct bp_address_table *table, uint64_t address)
{
	if (address == 0) /* an empty entry has this address */
		return false;
	for (int attempt = 0; attempt < 1000; attempt++) {
		const uint32_t before = __atomic_load_n(&table->version, __ATOMIC_ACQUIRE);
		const struct bp_address_array *array =
			__atomic_load_n(&table->array, __ATOMIC_ACQUIRE);
		if (array == NULL)
			return false;
		const uint32_t i = bp_address_probe(array, address);
		const bool found = bp_address_load(&array->entries[i].address) == address;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 && __atomic_load_n(&table->version, __ATOMIC_RELAXED) == before)
			return found;
	}
	return true; /* A writer sleeps: let the locked path decide. */
}

#endif
