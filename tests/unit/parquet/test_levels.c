/* SPDX-License-Identifier: MIT */
/* What is written in runs and packed bits comes back by a reader of its own, for all widths and for
 * runs of all lengths around the border of what is packed; and Thrift's bytes are those of its
 * specification. Whole files are read by tests/scenario/test_parquet.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those first. */
#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "parquet/levels.h"
#include "parquet/thrift.h"

#define NUMBERS 5000u

static uint64_t random_state;

static uint32_t drawn(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % below);
}

static uint32_t bits_at(const uint8_t *data, size_t bit, unsigned width)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < width; i++, bit++)
		value |= (uint32_t)(data[bit / 8] >> bit % 8 & 1) << i;
	return value;
}

/* Reads `count` numbers by the words of Encodings.md; whether nothing is left behind them. */
static bool read_levels(
	const struct bp_parquet_buffer *buffer, unsigned width, uint32_t *ret_numbers, size_t count)
{
	struct bp_bytes bytes = bp_bytes_of(buffer->data, buffer->bytes);
	size_t at = 0;
	while (at < count && !bytes.failed) {
		const uint64_t header = bp_bytes_varint(&bytes);
		const size_t length = (size_t)(header >> 1);
		if (header & 1) {
			const uint8_t *packed = bp_bytes_take(&bytes, length * width);
			for (size_t i = 0; i < length * 8 && at < count; i++)
				ret_numbers[at++] = bits_at(packed, i * width, width);
			continue;
		}
		const uint8_t *value = bp_bytes_take(&bytes, (width + 7) / 8);
		uint32_t number = 0;
		memcpy(&number, value, (width + 7) / 8);
		for (size_t i = 0; i < length && at < count; i++)
			ret_numbers[at++] = number;
	}
	return !bytes.failed && at == count && bp_bytes_left(&bytes) == 0;
}

static void numbers_come_back(void **state)
{
	static uint32_t numbers[NUMBERS], back[NUMBERS];
	(void)state;
	random_state = 24;
	for (unsigned width = 0; width <= 32; width++) {
		for (int trial = 0; trial < 20; trial++) {
			struct bp_parquet_buffer buffer = { 0 };
			const size_t count = drawn(NUMBERS);
			const uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
			for (size_t i = 0; i < count;) {
				const uint32_t number = drawn(UINT32_MAX) * 2654435761u & mask;
				for (uint32_t run = 1 + drawn(20); run > 0 && i < count; run--)
					numbers[i++] = number;
			}
			bp_parquet_levels(&buffer, numbers, count, width);
			assert_false(buffer.failed);
			assert_true(read_levels(&buffer, width, back, count));
			assert_memory_equal(numbers, back, count * sizeof *numbers);
			bp_parquet_buffer_finish(&buffer);
		}
	}
}

static void runs_are_short(void **state)
{
	static const uint32_t zeros[NUMBERS];
	struct bp_parquet_buffer buffer = { 0 };
	(void)state;
	bp_parquet_levels(&buffer, zeros, NUMBERS, 17);
	assert_int_equal(buffer.bytes, 2 + 3);
	bp_parquet_buffer_finish(&buffer);
}

static void widths_fit(void **state)
{
	(void)state;
	assert_int_equal(bp_parquet_width(0), 0);
	assert_int_equal(bp_parquet_width(1), 0);
	assert_int_equal(bp_parquet_width(2), 1);
	assert_int_equal(bp_parquet_width(256), 8);
	assert_int_equal(bp_parquet_width(257), 9);
	assert_int_equal(bp_parquet_width(UINT32_MAX), 32);
}

/* By hand, from the specification of the compact protocol. */
static void thrift_is_as_specified(void **state)
{
	static const uint8_t wanted[] = { 0x15, 0x02, /* 1: i32 1 */
		0x26, 0x03,			      /* 3: i64 -2 */
		0x18, 0x02, 'h', 'i',		      /* 4: binary */
		0x1c, 0x15, 0x00, 0x00,		      /* 5: struct { 1: i32 0 } */
		0x19, 0x25, 0x04, 0x06,		      /* 6: list<i32> 2, 3 */
		0x00 };
	struct bp_parquet_buffer buffer = { 0 };
	struct bp_thrift thrift = bp_thrift_of(&buffer);
	(void)state;
	bp_thrift_i32(&thrift, 1, 1);
	bp_thrift_i64(&thrift, 3, -2);
	bp_thrift_text(&thrift, 4, "hi");
	bp_thrift_begin(&thrift, 5);
	bp_thrift_i32(&thrift, 1, 0);
	bp_thrift_end(&thrift);
	bp_thrift_list(&thrift, 6, BP_THRIFT_I32, 2);
	bp_thrift_item_i32(&thrift, 2);
	bp_thrift_item_i32(&thrift, 3);
	bp_thrift_end(&thrift);
	assert_int_equal(buffer.bytes, sizeof wanted);
	assert_memory_equal(buffer.data, wanted, sizeof wanted);
	bp_parquet_buffer_finish(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(runs_are_short),
		cmocka_unit_test(widths_fit),
		cmocka_unit_test(thrift_is_as_specified),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
