/* SPDX-License-Identifier: MIT */
/*
 * The filter that the live set keeps: no live object that it does not know of, whatever came and
 * went; nothing left when all are gone; a count that reached its end stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recognition/filter.h"
#include "recognition/live_set.h"

#define OBJECTS 5000

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static unsigned marked(void)
{
	unsigned count = 0;
	for (uint64_t i = 0; i < BP_FILTER_BYTES; i++)
		count += bp_filter_counts[i] != 0;
	return count;
}

static void is_not_there_before(void **state)
{
	(void)state;
	assert_null(bp_filter_counts);
	assert_true(bp_live_insert(at(0x7f0000001000), 1)); /* over glibc: no filter, no fault */
	assert_true(bp_live_remove(at(0x7f0000001000)) == 1);
	assert_true(bp_filter_init());
	assert_true((uintptr_t)bp_filter_counts + BP_FILTER_BYTES <= INT32_MAX);
	assert_int_equal(marked(), 0);
}

static void knows_pages(void **state)
{
	const uint64_t page = 0x7f1234567000;
	(void)state;
	assert_true(bp_live_insert(at(page + 16), 1));
	assert_true(bp_live_insert(at(page + 4080), 2));
	assert_true(bp_live_insert(at(page + 16), 3)); /* the same object: counted once */
	assert_true(bp_filter_hit(at(page)) && bp_filter_hit(at(page + 4095)));
	assert_false(bp_filter_hit(at(page - 1)) || bp_filter_hit(at(page + 4096)));
	assert_true(bp_filter_hit(at(page + ((uint64_t)1 << 32)))); /* shares the count */
	assert_false(bp_live_contains(NULL));
	assert_true(bp_live_remove(at(page + 16)) == 3);
	assert_true(bp_filter_hit(at(page)));
	assert_true(bp_live_remove(at(page + 16)) == 0);
	assert_true(bp_filter_hit(at(page)));
	assert_true(bp_live_try_remove(at(page + 4080)) == 2);
	assert_int_equal(marked(), 0);
}

/* Objects come and go in few pages of many address ranges; no more than 255 share a count. */
static void misses_none(void **state)
{
	static uint64_t objects[OBJECTS];
	uint64_t random = 7;
	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t *object = &objects[next(&random) % OBJECTS];
		if (*object != 0) {
			assert_true(bp_filter_hit(at(*object)));
			assert_true(bp_live_remove(at(*object)) != 0);
			*object = 0;
			continue;
		}
		*object = 0x500000000000 + (next(&random) % 8 << 32) +
			  (next(&random) % 3000000 & ~(uint64_t)15);
		if (bp_live_contains(at(*object)))
			*object = 0;
		else
			assert_true(bp_live_insert(at(*object), (uint64_t)i + 1));
	}
	for (int i = 0; i < OBJECTS; i++)
		assert_true(objects[i] == 0 || bp_filter_hit(at(objects[i])));
	for (int i = 0; i < OBJECTS; i++)
		assert_true(objects[i] == 0 || bp_live_remove(at(objects[i])) != 0);
	assert_int_equal(marked(), 0);
}

static void full_count_stays(void **state)
{
	const uint64_t page = 0x7f1234567000;
	(void)state;
	for (uint64_t i = 0; i < 256; i++)
		assert_true(bp_live_insert(at(page + 16 * i), i + 1));
	for (uint64_t i = 0; i < 256; i++) {
		assert_true(bp_filter_hit(at(page + 16 * i)));
		assert_true(bp_live_remove(at(page + 16 * i)) == i + 1);
	}
	assert_true(bp_filter_hit(at(page)));
	assert_int_equal(marked(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_not_there_before),
		cmocka_unit_test(knows_pages),
		cmocka_unit_test(misses_none),
		cmocka_unit_test(full_count_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
