/* SPDX-License-Identifier: MIT */
/* Rows come back as they were: of every width, before and after their block is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those first. */
#include <cmocka.h>

#include "base/packed.h"

#define ROWS (3 * BP_PACKED_ROWS + 100)

/* What row `row` has: in block n of column c numbers of (7 n + 13 c) % 65 bits, on a large base. */
static uint64_t wanted(uint32_t row, unsigned column)
{
	const unsigned width = (7 * (row / BP_PACKED_ROWS) + 13 * column + 11) % 65;
	const uint64_t random = (row + 1) * 0x9E3779B97F4A7C15u * (column + 1);
	return (width == 0 ? 0 : random >> (64 - width)) +
	       (width < 60 ? 0xFFF0000000000000u >> column : 0);
}

static void rows_come_back(void **state)
{
	(void)state;
	for (uint32_t columns = 1; columns <= BP_PACKED_COLUMNS; columns++) {
		struct bp_packed table = { .count = 0 };
		for (uint32_t i = 0; i < ROWS; i++) {
			struct bp_packed_row row = { { i, i, i, i, i } };
			for (unsigned c = 0; c < columns; c++)
				row.column[c] = wanted(i, c);
			assert_true(bp_packed_add(&table, &row, columns));
			assert_true(
				bp_packed_get(&table, i, columns - 1) == wanted(i, columns - 1));
		}
		assert_int_equal(table.count, ROWS);
		for (uint32_t i = 0; i < ROWS; i++) {
			const struct bp_packed_row row = bp_packed_row_of(&table, i, columns);
			for (unsigned c = 0; c < columns; c++)
				assert_true(row.column[c] == wanted(i, c) &&
					    bp_packed_get(&table, i, c) == wanted(i, c));
		}
		bp_packed_finish(&table);
	}
}

static void extremes_come_back(void **state)
{
	(void)state;
	struct bp_packed table = { .count = 0 };
	for (uint32_t i = 0; i < BP_PACKED_ROWS; i++) {
		const struct bp_packed_row row = { { i % 2 == 0 ? 0 : UINT64_MAX, i % 3 } };
		assert_true(bp_packed_add(&table, &row, 2));
	}
	assert_int_equal(table.block_count, 1);
	for (uint32_t i = 0; i < BP_PACKED_ROWS; i++)
		assert_true(bp_packed_get(&table, i, 0) == (i % 2 == 0 ? 0 : UINT64_MAX) &&
			    bp_packed_get(&table, i, 1) == i % 3);
	bp_packed_finish(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back),
		cmocka_unit_test(extremes_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
