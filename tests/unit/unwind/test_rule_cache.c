/* SPDX-License-Identifier: MIT */
/*
 * The cache of rules: what is found is what was stored, for that very address, whatever else is
 * stored, by whom, and while all is being forgotten. Addresses and rules are drawn from fixed
 * seeds; nothing is left to chance but the order of threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tables/arena.h"
#include "unwind/rule_cache.h"

#define ADDRESS_MASK (((uint64_t)1 << BP_RULE_ADDRESS_BITS) - 1)

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* An address, and the only rules that are right for it. */
static uint64_t address_of(uint64_t i)
{
	return mix(i + 1) & ADDRESS_MASK;
}

static uint32_t rules_of(uint64_t address)
{
	return (uint32_t)(mix(address * 3) % ((1u << BP_COMPACT_BITS) - 1)) + 1;
}

static uint32_t epoch(void)
{
	return __atomic_load_n(&bp_rule_cache.epoch, __ATOMIC_ACQUIRE);
}

/* Nothing is found in place of another: neighbours of stored addresses, bit by bit, are not
 * known. */
static void only_what_was_stored(void **state)
{
	unsigned kept = 0;
	(void)state;
	for (uint64_t i = 0; i < 4000; i++) {
		const uint64_t address = address_of(i);
		bp_rule_cache_store(address, rules_of(address), epoch());
		assert_true(bp_rule_cache_find(address) == rules_of(address));
	}
	for (uint64_t i = 0; i < 4000; i++) {
		const uint64_t address = address_of(i);
		const uint32_t rules = bp_rule_cache_find(address);
		assert_true(rules == 0 || rules == rules_of(address));
		kept += rules != 0;
		for (unsigned bit = 0; bit < BP_RULE_ADDRESS_BITS; bit++)
			assert_int_equal(bp_rule_cache_find(address ^ (uint64_t)1 << bit), 0);
	}
	/* 4000 in 8192 sets of two: 125 have given way on average, with a standard deviation of
	 * 11. */
	assert_in_range(kept, 3800, 3950);
}

/* 16 KiB of code touch one page of the cache, and all of it: a set in it for each 64 bytes or so. */
static void a_page_for_each_region(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		const uint64_t region = address_of(i) & ~(uint64_t)0x3FFF;
		const uint64_t page = bp_rule_scramble(region) >> (BP_RULE_ADDRESS_BITS - 5);
		uint16_t addresses_in_set[256] = { 0 };
		for (uint64_t place = 0; place < 16384; place++) {
			const uint64_t set = bp_rule_scramble(region + place) >> BP_RULE_TAG_BITS;
			assert_true(set >> 8 == page);
			addresses_in_set[set & 0xFF]++;
		}
		for (unsigned set = 0; set < 256; set++)
			assert_int_equal(addresses_in_set[set], 64);
	}
}

/* Beyond the addresses there are, and before there is memory. */
static void ends(void **state)
{
	(void)state;
	for (unsigned bit = BP_RULE_ADDRESS_BITS; bit < 64; bit++) {
		const uint64_t address = 12345 | (uint64_t)1 << bit;
		bp_rule_cache_store(address, 7, epoch());
		assert_int_equal(bp_rule_cache_find(address), 0);
		assert_int_equal(bp_rule_cache_find(12345), 0);
	}
	uint64_t *entries = bp_rule_cache.entries;
	bp_rule_cache.entries = NULL;
	bp_rule_cache_store(12345, 7, epoch());
	bp_rule_cache_forget();
	assert_int_equal(bp_rule_cache_find(12345), 0);
	bp_rule_cache.entries = entries;
	assert_int_equal(bp_rule_cache_find(0), 0);
	bp_rule_cache_store(0, 9, epoch());
	assert_int_equal(bp_rule_cache_find(0), 9);
}

static void forgetting(void **state)
{
	(void)state;
	const uint64_t bytes = bp_arena_bytes();
	const uint32_t before = epoch();
	bp_rule_cache_store(4711, 5, before);
	bp_rule_cache_forget();
	assert_int_equal(bp_rule_cache_find(4711), 0);
	/* Found out before, stored after: of code that may be gone. */
	bp_rule_cache_store(4711, 5, before);
	assert_int_equal(bp_rule_cache_find(4711), 0);
	bp_rule_cache_store(4711, 6, epoch());
	assert_int_equal(bp_rule_cache_find(4711), 6);
	bp_rule_cache_init(); /* again: the same memory, counted once */
	assert_true(bp_arena_bytes() == bytes);
}

/* ---- threads ---- */

#define ADDRESSES 40000u /* more than there is room for */
static volatile int stop;
static uint64_t wrong, hits;

static void *store_and_find(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	uint64_t found_wrong = 0, found = 0;
	for (unsigned i = 0; i < 1000000; i++) {
		const uint32_t now = epoch();
		const uint64_t address = address_of(mix(random++) % ADDRESSES);
		const uint32_t rules = bp_rule_cache_find(address);
		found += rules != 0;
		found_wrong += rules != 0 && rules != rules_of(address);
		if (rules == 0)
			bp_rule_cache_store(address, rules_of(address), now);
	}
	__atomic_fetch_add(&wrong, found_wrong, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hits, found, __ATOMIC_RELAXED);
	return NULL;
}

static void *forget_often(void *argument)
{
	while (!stop) {
		bp_rule_cache_forget();
		for (volatile int i = 0; i < 100000; i++)
			;
	}
	return argument;
}

static void threads(void **state)
{
	pthread_t running[4], forgetter;
	(void)state;
	assert_int_equal(pthread_create(&forgetter, NULL, forget_often, NULL), 0);
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&running[i], NULL, store_and_find, (void *)(i << 32)), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(running[i], NULL), 0);
	stop = 1;
	assert_int_equal(pthread_join(forgetter, NULL), 0);
	assert_true(wrong == 0);
	assert_true(hits > 100000);
	bp_rule_cache_forget();
	for (uint64_t i = 0; i < ADDRESSES; i++)
		assert_int_equal(bp_rule_cache_find(address_of(i)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_stored),
		cmocka_unit_test(a_page_for_each_region),
		cmocka_unit_test(ends),
		cmocka_unit_test(forgetting),
		cmocka_unit_test(threads),
	};
	bp_rule_cache_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
