/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing and backward-shift deletion (no tombstones), in stripes by
 * the high bits of the hash: each has a lock and an array of its own, which doubles when it is
 * three quarters full. Nobody reads without the lock, so the old array goes at once.
 *
 * Forks. The arrays are wiped in a child by the kernel (MADV_WIPEONFORK), at no cost to it: what
 * the child inherits are the parent's objects, and its own table begins empty. Address and capacity
 * of an array are one word, so that a child made while another thread let the array grow finds the
 * old one or the new one, never half of each. Where the kernel cannot wipe, the child does, before
 * it uses them.
 */
#include "tables/verify_table.h"

#include "base/attributes.h"
#include "base/lock.h"

#define CAPACITY_FIRST_LOG2 7u /* a page */
#define LOG2_MASK ((uint64_t)4095)

static struct stripe {
	struct bp_lock lock;
	uint32_t count;
	uint64_t array; /* its address, and the log2 of its capacity in the low bits; 0: none yet */
} stripes[BP_VERIFY_STRIPES];

static uint64_t bytes_mapped;
static bool kernel_does_not_wipe;

_Static_assert(sizeof(struct bp_verify_entry) == 32, "verify_table.h");
_Static_assert(sizeof(struct bp_verify_entry) << CAPACITY_FIRST_LOG2 == 4096, "a page");

static uint64_t hash_of(uint64_t address)
{
	return (address >> 4) * 0x9E3779B97F4A7C15u;
}

static struct stripe *stripe_of(uint64_t address)
{
	return &stripes[hash_of(address) >> 58];
}

static uint32_t home(uint64_t address, uint32_t mask)
{
	return (uint32_t)(hash_of(address) >> 24) & mask;
}

static struct bp_verify_entry *entries_of(const struct stripe *stripe, uint32_t *ret_mask)
{
	*ret_mask = ((uint32_t)1 << (stripe->array & LOG2_MASK)) - 1;
	return (struct bp_verify_entry *)(stripe->array & ~LOG2_MASK);
}

/* Index of `address` or of the empty place that ends its probe. */
static uint32_t probe(const struct bp_verify_entry *entries, uint32_t mask, uint64_t address)
{
	uint32_t i = home(address, mask);
	while (entries[i].address != address && entries[i].address != 0)
		i = (i + 1) & mask;
	return i;
}

static bool grow(struct stripe *stripe)
{
	const uint64_t old_log2 = stripe->array & LOG2_MASK;
	const uint64_t log2 = stripe->array == 0 ? CAPACITY_FIRST_LOG2 : old_log2 + 1;
	const size_t bytes = sizeof(struct bp_verify_entry) << log2;
	uint32_t old_mask, mask = ((uint32_t)1 << log2) - 1;
	if (mask >= BP_VERIFY_STRIPE_MAX)
		return false;
	struct bp_verify_entry *entries = bp_system_memory(bytes);
	if (entries == NULL)
		return false;
	if (!bp_system_advise(entries, bytes, MADV_WIPEONFORK))
		kernel_does_not_wipe = true;
	struct bp_verify_entry *old = entries_of(stripe, &old_mask);
	for (uint32_t i = 0; old != NULL && i <= old_mask; i++)
		if (old[i].address != 0)
			entries[probe(entries, mask, old[i].address)] = old[i];
	__atomic_store_n(&stripe->array, (uint64_t)entries | log2, __ATOMIC_RELEASE);
	__atomic_fetch_add(&bytes_mapped, bytes, __ATOMIC_RELAXED);
	if (old != NULL) {
		const size_t old_bytes = sizeof(struct bp_verify_entry) << old_log2;
		bp_system_unmap(old, old_bytes);
		__atomic_fetch_sub(&bytes_mapped, old_bytes, __ATOMIC_RELAXED);
	}
	return true;
}

/* Locked. Is there room for one more? */
static bool has_room(struct stripe *stripe)
{
	uint32_t mask;
	if (stripe->array == 0)
		return grow(stripe);
	(void)entries_of(stripe, &mask);
	return stripe->count < mask - mask / 4 || grow(stripe);
}

bool bp_verify_table_insert(
	const struct bp_verify_entry *entry, struct bp_verify_entry *ret_replaced)
{
	struct stripe *stripe = stripe_of(entry->address);
	uint32_t mask;
	bp_lock_take(&stripe->lock);
	const bool room = has_room(stripe);
	if (room) {
		struct bp_verify_entry *entries = entries_of(stripe, &mask);
		struct bp_verify_entry *place = &entries[probe(entries, mask, entry->address)];
		stripe->count += place->address == 0;
		*ret_replaced = *place;
		*place = *entry;
	}
	bp_lock_release(&stripe->lock);
	return room;
}

/* Locked. Empties place `hole` and moves back what probed past it. */
static void remove_at(struct bp_verify_entry *entries, uint32_t mask, uint32_t hole)
{
	for (uint32_t next = (hole + 1) & mask; entries[next].address != 0;
		next = (next + 1) & mask) {
		const uint32_t wish = home(entries[next].address, mask);
		/* May it move to the hole? Only if its home is not between the hole and it. */
		if (((next - wish) & mask) < ((next - hole) & mask))
			continue;
		entries[hole] = entries[next];
		hole = next;
	}
	entries[hole].address = 0;
}

static bool remove_locked(
	struct stripe *stripe, uint64_t address, struct bp_verify_entry *ret_entry)
{
	uint32_t mask;
	struct bp_verify_entry *entries = entries_of(stripe, &mask);
	if (entries == NULL)
		return false;
	const uint32_t i = probe(entries, mask, address);
	if (entries[i].address == 0)
		return false;
	*ret_entry = entries[i];
	remove_at(entries, mask, i);
	stripe->count--;
	return true;
}

bool bp_verify_table_remove(const void *object, struct bp_verify_entry *ret_entry)
{
	struct stripe *stripe = stripe_of((uint64_t)object);
	bp_lock_take(&stripe->lock);
	const bool found = remove_locked(stripe, (uint64_t)object, ret_entry);
	bp_lock_release(&stripe->lock);
	return found;
}

enum bp_verify_found bp_verify_table_try_remove(
	const void *object, struct bp_verify_entry *ret_entry)
{
	struct stripe *stripe = stripe_of((uint64_t)object);
	if (!bp_lock_try(&stripe->lock))
		return BP_VERIFY_BUSY;
	const bool found = remove_locked(stripe, (uint64_t)object, ret_entry);
	bp_lock_release(&stripe->lock);
	return found ? BP_VERIFY_FOUND : BP_VERIFY_ABSENT;
}

uint64_t bp_verify_table_bytes(void)
{
	return __atomic_load_n(&bytes_mapped, __ATOMIC_RELAXED);
}

void bp_verify_table_lock(void)
{
	for (uint32_t i = 0; i < BP_VERIFY_STRIPES; i++)
		bp_lock_take(&stripes[i].lock);
}

void bp_verify_table_unlock(void)
{
	for (uint32_t i = BP_VERIFY_STRIPES; i-- > 0;)
		bp_lock_release(&stripes[i].lock);
}

void bp_verify_table_after_fork(void)
{
	for (uint32_t i = 0; i < BP_VERIFY_STRIPES; i++) {
		struct stripe *stripe = &stripes[i];
		uint32_t mask;
		struct bp_verify_entry *entries = entries_of(stripe, &mask);
		(void)bp_lock_reset(&stripe->lock);
		stripe->count = 0;
		if (kernel_does_not_wipe && entries != NULL)
			__builtin_memset(entries, 0, (mask + (size_t)1) * sizeof *entries);
	}
}
