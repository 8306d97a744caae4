/* SPDX-License-Identifier: MIT */
/* How much of an object lies on pages that were not present; groups of mappings and their bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "resident/mappings.h"
#include "resident/pages/pages.h"

static void test_absent(void **state)
{
	struct bp_pages pages = { 0 };
	uint64_t absent;
	(void)state;
	assert_false(bp_pages_absent(&pages, 0x1000, 8, &absent));
	assert_true(bp_page_runs_add(&pages.looked, 0x1000, 0x9000));
	assert_true(bp_page_runs_add(&pages.looked, 0xa000, 0xb000));
	assert_true(bp_page_runs_add(&pages.present, 0x1000, 0x2000));
	assert_true(bp_page_runs_add(&pages.present, 0x2000, 0x3000));
	assert_true(bp_page_runs_add(&pages.present, 0x5000, 0x6000));
	assert_int_equal(pages.present.count, 2); /* neighbours are one run */
	assert_false(bp_page_runs_add(&pages.present, 0x5800, 0x7000));
	assert_true(bp_pages_absent(&pages, 0x1000, 0x8000, &absent));
	assert_int_equal(absent, 0x5000);
	assert_true(bp_pages_absent(&pages, 0x2ff0, 0x20, &absent));
	assert_int_equal(absent, 0x10);
	assert_true(bp_pages_absent(&pages, 0x4ff0, 0x1020, &absent));
	assert_int_equal(absent, 0x20);
	assert_true(bp_pages_absent(&pages, 0xa800, 0x10, &absent));
	assert_int_equal(absent, 0x10);
	/* Not all of it was looked at, or none. */
	assert_false(bp_pages_absent(&pages, 0x8ff0, 0x20, &absent));
	assert_false(bp_pages_absent(&pages, 0x8000, 0x2800, &absent));
	assert_false(bp_pages_absent(&pages, 0x20000, 1, &absent));
	assert_false(bp_pages_absent(&pages, UINT64_MAX - 4, 8, &absent));
	bp_pages_finish(&pages);
}

static void test_too_many_runs(void **state)
{
	struct bp_page_runs runs = { 0 };
	struct bp_pages pages = { 0 };
	uint32_t count = 0;
	(void)state;
	while (bp_page_runs_add(&runs, count * UINT64_C(8192), count * UINT64_C(8192) + 4096))
		count++;
	assert_int_equal(count, BP_PAGE_RUNS_MAX);
	pages.looked = runs;
	bp_pages_finish(&pages);
}

static void test_groups(void **state)
{
	struct bp_mapping_cut cut = { 0 }, copy;
	const struct bp_mapping_group amount = { .count = 1, .resident_bytes = 4096 };
	char name[32];
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "file %u", i % 600);
		assert_true(bp_mapping_cut_add(&cut, BP_MAPPING_FILE, name, &amount));
	}
	assert_true(cut.group_count <= BP_MAPPING_GROUPS_MAX);
	assert_int_equal(bp_mapping_cut_resident(&cut), 1000 * 4096);
	assert_int_equal(bp_mapping_cut_of_kind(&cut, BP_MAPPING_FILE).count, 1000);
	assert_int_equal(cut.groups[0].count, 2);
	assert_true(bp_mapping_cut_copy(&cut, &copy));
	assert_int_equal(copy.group_count, cut.group_count);
	assert_int_equal(bp_mapping_cut_resident(&copy), 1000 * 4096);
	bp_mapping_cut_finish(&cut);
	bp_mapping_cut_finish(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_absent),
		cmocka_unit_test(test_too_many_runs), cmocka_unit_test(test_groups) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
