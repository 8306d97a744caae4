/* SPDX-License-Identifier: MIT */
/*
 * The cache of unwind rules of the process: compact rules (machine.h) by the address that they are
 * for.
 *
 * An entry is one word, so that it is read and written whole, by any thread, without locks, in
 * signal handlers, across forks. It holds the rules and all of the address: scrambling can be
 * undone, so its upper bits, which choose the set, and its lower bits, which stand in the entry,
 * together are the address, and a look-up never errs. Two entries make a set; eight lie in a cache
 * line. 128 KiB, from the arena, at the first use. Entries of the same kind are shared with
 * children of fork (shared_rules.h).
 *
 * The addresses of 16 KiB of code share a page of the cache. A page that is touched for the first
 * time costs as much as finding some rules, in every process and in every child of a fork anew, and
 * most of them see little code. (With 64 KiB to a page a child of postgres touches 15 pages less of
 * 870, and a sample of a program with many call sites in one place costs a sixth more.)
 *
 *   BITS    MEANING
 *   0..28   rules; never 0, so that an entry of zeros is empty
 *   29..63  the address, scrambled, but for the bits that chose the set
 */
#ifndef BP_UNWIND_RULE_CACHE_H
#define BP_UNWIND_RULE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"

#define BP_RULE_CACHE_ENTRIES 16384u
#define BP_RULE_TAG_BITS 35
#define BP_RULE_ADDRESS_BITS 48

_Static_assert(BP_RULE_TAG_BITS + BP_COMPACT_BITS == 64, "an entry is one word");
_Static_assert(BP_RULE_CACHE_ENTRIES / 2 == 1u << (BP_RULE_ADDRESS_BITS - BP_RULE_TAG_BITS),
	"set and tag together are the address");

struct bp_rule_cache {
	uint64_t *entries; /* NULL: none yet, or no memory */
	uint32_t epoch;	   /* counts bp_rule_cache_forget */
};
extern struct bp_rule_cache bp_rule_cache __attribute__((visibility("hidden")));

/* Allocates the cache, if that was not done yet. Not in a signal handler that interrupted the
 * recorder. */
void bp_rule_cache_init(void);

/* Stores rules that were found while the epoch was `epoch`. */
void bp_rule_cache_store(uint64_t address, uint32_t rules, uint32_t epoch);

/* Forgets all rules, and those that other threads are just finding, because other code may come to
 * their addresses. */
void bp_rule_cache_forget(void);

#define BP_RULE_PLACE_BITS 14 /* of an address, in the code that shares a page */
#define BP_RULE_REGION_BITS (BP_RULE_ADDRESS_BITS - BP_RULE_PLACE_BITS)

/* From the top: 5 bits that choose the page, 8 that choose the set in it, 35 of the tag. It can be
 * undone: a product with an odd number modulo a power of two can, which gives first the upper bits
 * of the address (`region`), and then its lower ones (`place`). */
static inline uint64_t bp_rule_scramble(uint64_t address)
{
	const uint64_t constant = 0x9E3779B97F4A7C15u;
	const uint64_t region = (address >> BP_RULE_PLACE_BITS) * constant &
				(((uint64_t)1 << BP_RULE_REGION_BITS) - 1);
	const uint64_t place =
		(address * constant + region) & (((uint64_t)1 << BP_RULE_PLACE_BITS) - 1);
	const unsigned tag_bits = BP_RULE_PLACE_BITS - 8, low_bits = BP_RULE_REGION_BITS - 5;
	return (region >> low_bits) << 43 | (place >> tag_bits) << 35 |
	       (region & (((uint64_t)1 << low_bits) - 1)) << tag_bits |
	       (place & (((uint64_t)1 << tag_bits) - 1));
}

/* Returns the rules at `address` among these entries, which may be NULL; 0: they are not there. */
static inline uint32_t bp_rule_entries_find(const uint64_t *entries, uint64_t address)
{
	if (bp_unlikely(entries == NULL || address >> BP_RULE_ADDRESS_BITS != 0))
		return 0;
	const uint64_t scrambled = bp_rule_scramble(address);
	const uint64_t tag = scrambled & (((uint64_t)1 << BP_RULE_TAG_BITS) - 1);
	const uint64_t *set = entries + 2 * (scrambled >> BP_RULE_TAG_BITS);
	uint64_t entry = __atomic_load_n(&set[0], __ATOMIC_RELAXED);
	if (entry >> BP_COMPACT_BITS != tag)
		entry = __atomic_load_n(&set[1], __ATOMIC_RELAXED);
	if (entry >> BP_COMPACT_BITS != tag)
		return 0;
	return (uint32_t)entry & ((1u << BP_COMPACT_BITS) - 1);
}

/* Stores rules among these entries, which may be NULL, and returns the set that they are in; NULL:
 * they cannot be stored. */
uint64_t *bp_rule_entries_store(uint64_t *entries, uint64_t address, uint32_t rules);

/* Returns the rules at `address`; 0: they are not in the cache. */
static inline uint32_t bp_rule_cache_find(uint64_t address)
{
	return bp_rule_entries_find(
		__atomic_load_n(&bp_rule_cache.entries, __ATOMIC_ACQUIRE), address);
}

#endif
