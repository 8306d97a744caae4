/* SPDX-License-Identifier: MIT */
/* Growing arrays (vec.h), the hash of numbers (hash.h) and the index over an array (index.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/vec.h"

struct entry {
	uint32_t other;
	uint64_t key;
};

static struct bp_index_keys keys_of(const struct entry *entries)
{
	return (struct bp_index_keys){ (const char *)entries + offsetof(struct entry, key),
		sizeof *entries };
}

static void vec_grows(void **state)
{
	uint32_t *items = NULL, capacity = 0;
	(void)state;
	assert_true(bp_vec_reserve(&items, &capacity, 0, sizeof *items));
	assert_int_equal(capacity, 0);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_true(bp_vec_reserve(&items, &capacity, i + 1u, sizeof *items));
		assert_true(capacity > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(items[i], i);
	/* Growth is by half, not by one. */
	assert_true(capacity < 20000);
	uint32_t before = capacity;
	assert_false(bp_vec_reserve(&items, &capacity, (uint64_t)UINT32_MAX + 1, sizeof *items));
	assert_false(bp_vec_reserve(&items, &capacity, UINT32_MAX, SIZE_MAX / 2));
	assert_int_equal(capacity, before);
	assert_int_equal(items[9999], 9999);
	free(items);
}

static void hash_spreads(void **state)
{
	uint32_t buckets[256] = { 0 };
	(void)state;
	assert_true(bp_hash_u64(1) != bp_hash_u64(2));
	/* 25600 multiples of 2^32 over 256 buckets by the low bits: with 100 expected in each, a
	 * fair hash leaves none outside 40..160 (six standard deviations; false alarm below 1e-6).
	 */
	for (uint64_t i = 0; i < 25600; i++)
		buckets[bp_hash_u64(i << 32) % 256]++;
	for (size_t i = 0; i < 256; i++)
		assert_in_range(buckets[i], 40, 160);
}

/* Adds `count` entries with keys first + i * stride, then looks each up, and their neighbours. */
static void check_index(struct bp_index *index, uint64_t first, uint64_t stride, uint32_t count)
{
	struct entry *entries = calloc(count, sizeof *entries);
	for (uint32_t i = 0; i < count; i++) {
		entries[i].key = first + i * stride;
		assert_int_equal(
			bp_index_find(index, keys_of(entries), entries[i].key), BP_INDEX_NONE);
		assert_true(bp_index_add(index, keys_of(entries), i));
	}
	assert_int_equal(index->count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bp_index_find(index, keys_of(entries), first + i * stride), i);
	assert_int_equal(
		bp_index_find(index, keys_of(entries), first + count * stride), BP_INDEX_NONE);
	assert_int_equal(bp_index_find(index, keys_of(entries), first - stride), BP_INDEX_NONE);
	free(entries);
}

static void index_of_counters(void **state)
{
	struct bp_index index = { .slots = NULL };
	(void)state;
	assert_int_equal(
		bp_index_find(&index, (struct bp_index_keys){ NULL, 0 }, 0), BP_INDEX_NONE);
	check_index(&index, 1, 1, 100000);
	/* Dense keys stay where they are: no hash was needed, and the memory is bounded. */
	assert_true(index.seed == 0);
	assert_true(index.slot_count <= 4 * 100000);
	bp_index_finish(&index);
	assert_null(index.slots);
	check_index(&index, UINT64_MAX - 500, 3, 1000);
	bp_index_finish(&index);
}

static void index_of_hostile_keys(void **state)
{
	struct bp_index index = { .slots = NULL };
	(void)state;
	/* All keys have the same low bits: without the change of hash this takes 4 * 10^9 steps. */
	check_index(&index, 7, (uint64_t)1 << 40, 90000);
	assert_true(index.seed != 0);
	bp_index_finish(&index);
}

static void index_of_wrapped_run(void **state)
{
	struct bp_index index = { .slots = NULL };
	struct entry *entries = calloc(100000, sizeof *entries);
	(void)state;
	for (uint32_t i = 0; i < 50000; i++) {
		entries[i].key = 1 + i;
		assert_true(bp_index_add(&index, keys_of(entries), i));
	}
	/* Keys whose home is the start of a full run: absent ones are given up on, present ones are
	 * found, and the index has taken to hashing. */
	assert_true(index.seed == 0);
	for (uint64_t i = 0; i < 50000; i++)
		assert_int_equal(bp_index_find(&index, keys_of(entries), index.slot_count + 1 + i),
			BP_INDEX_NONE);
	for (uint32_t i = 50000; i < 100000; i++) {
		entries[i].key = ((uint64_t)1 << 30) + i;
		assert_true(bp_index_add(&index, keys_of(entries), i));
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(bp_index_find(&index, keys_of(entries), entries[i].key), i);
	free(entries);
	bp_index_finish(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vec_grows),
		cmocka_unit_test(hash_spreads),
		cmocka_unit_test(index_of_counters),
		cmocka_unit_test(index_of_hostile_keys),
		cmocka_unit_test(index_of_wrapped_run),
	};
	return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
