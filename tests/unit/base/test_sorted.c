/* SPDX-License-Identifier: MIT */
/* Searching in sorted arrays (sorted.h), against counting one by one; every length up to a few
 * powers of two, with equal keys, and both ends of what 64 bits hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sorted.h"

#define ENTRIES 70u

struct entry {
	uint64_t key;
	uint32_t other; /* so that entries are wider than keys */
};

static void compare(const struct entry *entries, uint32_t count, uint64_t key)
{
	uint32_t upto = 0, below = 0;
	for (uint32_t i = 0; i < count; i++) {
		upto += entries[i].key <= key;
		below += entries[i].key < key;
	}
	assert_int_equal(bp_sorted_upto(entries, sizeof *entries, count, key), upto);
	assert_int_equal(bp_sorted_below(entries, sizeof *entries, count, key), below);
}

/* Steps of 3, each key `times` times. */
static void every_length(void **state)
{
	struct entry entries[ENTRIES];
	(void)state;
	for (uint32_t times = 1; times <= 3; times++) {
		for (uint32_t i = 0; i < ENTRIES; i++)
			entries[i] = (struct entry){ 3 + i / times * 3, UINT32_MAX };
		for (uint32_t count = 0; count <= ENTRIES; count++)
			for (uint64_t key = 0; key < 3 * ENTRIES + 6; key++)
				compare(entries, count, key);
	}
}

static void both_ends(void **state)
{
	const struct entry entries[] = { { 0, 1 }, { 0, 1 }, { 1, 1 }, { UINT64_MAX - 1, 1 },
		{ UINT64_MAX, 1 }, { UINT64_MAX, 1 } };
	const uint64_t keys[] = { 0, 1, 2, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
	(void)state;
	for (uint32_t count = 0; count <= 6; count++)
		for (uint32_t i = 0; i < 6; i++)
			compare(entries, count, keys[i]);
}

static void of_nothing(void **state)
{
	(void)state;
	assert_int_equal(bp_sorted_upto(NULL, 8, 0, 0), 0);
	assert_int_equal(bp_sorted_below(NULL, 8, 0, UINT64_MAX), 0);
}

/* Keys alone, as many arrays are. */
static void bare_keys(void **state)
{
	const uint64_t keys[] = { 2, 4, 4, 8 };
	(void)state;
	assert_int_equal(bp_sorted_upto(keys, sizeof *keys, 4, 4), 3);
	assert_int_equal(bp_sorted_below(keys, sizeof *keys, 4, 4), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(both_ends),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(bare_keys),
	};
	return cmocka_run_group_tests_name("sorted", tests, NULL, NULL);
}
