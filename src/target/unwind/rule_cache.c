/* SPDX-License-Identifier: MIT */
/*
 * Forgetting. Rules are found (tables are read) before they are stored, and what was read may have
 * been of a module that is unloaded meanwhile. The storer looks at the epoch after its store, the
 * forgetter counts it up before it clears: in whatever order they meet, one of them takes the entry
 * out.
 */
#include "unwind/rule_cache.h"

#include <stddef.h>

#include "tables/arena.h"

struct bp_rule_cache bp_rule_cache;

void bp_rule_cache_init(void)
{
	if (bp_rule_cache.entries != NULL)
		return;
	uint64_t *fresh = bp_arena_allocate(BP_RULE_CACHE_ENTRIES * sizeof *fresh), *none = NULL;
	if (fresh != NULL) /* should two threads come here at once, one array is waste */
		__atomic_compare_exchange_n(&bp_rule_cache.entries, &none, fresh, false,
			__ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

uint64_t *bp_rule_entries_store(uint64_t *entries, uint64_t address, uint32_t rules)
{
	if (entries == NULL || rules == 0 || address >> BP_RULE_ADDRESS_BITS != 0)
		return NULL;
	const uint64_t scrambled = bp_rule_scramble(address);
	uint64_t *set = entries + 2 * (scrambled >> BP_RULE_TAG_BITS);
	/* The older of the two gives way. */
	__atomic_store_n(&set[1], __atomic_load_n(&set[0], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&set[0], scrambled << BP_COMPACT_BITS | rules, __ATOMIC_RELAXED);
	return set;
}

void bp_rule_cache_store(uint64_t address, uint32_t rules, uint32_t epoch)
{
	uint64_t *entries = __atomic_load_n(&bp_rule_cache.entries, __ATOMIC_ACQUIRE);
	uint64_t *set = bp_rule_entries_store(entries, address, rules);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (set != NULL && __atomic_load_n(&bp_rule_cache.epoch, __ATOMIC_RELAXED) != epoch) {
		__atomic_store_n(&set[0], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&set[1], 0, __ATOMIC_RELAXED);
	}
}

void bp_rule_cache_forget(void)
{
	__atomic_fetch_add(&bp_rule_cache.epoch, 1, __ATOMIC_SEQ_CST);
	uint64_t *entries = __atomic_load_n(&bp_rule_cache.entries, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; entries != NULL && i < BP_RULE_CACHE_ENTRIES; i++)
		if (__atomic_load_n(&entries[i], __ATOMIC_RELAXED) != 0)
			__atomic_store_n(&entries[i], 0, __ATOMIC_RELAXED);
}
