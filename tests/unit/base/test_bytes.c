/* SPDX-License-Identifier: MIT */
/* Numbers of the trace (varint.h) and the bounded cursors (bytes.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/bytes.h"

static const uint64_t numbers[] = { 0, 1, 2, 126, 127, 128, 129, 300, 16383, 16384, 2097151,
	2097152, UINT32_MAX, (uint64_t)UINT32_MAX + 1, (1ull << 56) - 1, 1ull << 56,
	(1ull << 63) - 1, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };

static void varint_codes(void **state)
{
	/* The examples of the LEB128 definition in the DWARF standard, and both ends. */
	static const struct {
		uint64_t value;
		uint8_t bytes, code[10];
	} known[] = {
		{ 2, 1, { 2 } },
		{ 127, 1, { 0x7f } },
		{ 128, 2, { 0x80, 1 } },
		{ 129, 2, { 0x81, 1 } },
		{ 12857, 2, { 0xb9, 0x64 } },
		{ UINT64_MAX, 10, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 } },
	};
	(void)state;
	for (size_t i = 0; i < BP_COUNT(known); i++) {
		uint8_t code[BP_VARINT_MAX_BYTES];
		uint8_t *end = bp_varint_put(code, known[i].value);
		assert_int_equal(end - code, known[i].bytes);
		assert_memory_equal(code, known[i].code, known[i].bytes);
	}
}

static void varint_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(numbers); i++) {
		uint8_t code[BP_VARINT_MAX_BYTES];
		uint8_t *end = bp_varint_put(code, numbers[i]);
		struct bp_bytes bytes = bp_bytes_of(code, (size_t)(end - code));
		assert_int_equal(end - code, bp_varint_bytes(numbers[i]));
		assert_true(bp_bytes_varint(&bytes) == numbers[i]);
		assert_false(bytes.failed);
		assert_int_equal(bp_bytes_left(&bytes), 0);
		/* One byte less does not do. */
		bytes = bp_bytes_of(code, (size_t)(end - code) - 1);
		assert_true(bp_bytes_varint(&bytes) == 0);
		assert_true(bytes.failed);
	}
}

static void varint_too_long(void **state)
{
	static const uint8_t eleven[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0 };
	static const uint8_t bit_64[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2 };
	static const uint8_t padded[] = { 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 };
	struct bp_bytes bytes = bp_bytes_of(eleven, sizeof eleven);
	(void)state;
	bp_bytes_varint(&bytes);
	assert_true(bytes.failed);
	bytes = bp_bytes_of(bit_64, sizeof bit_64);
	bp_bytes_varint(&bytes);
	assert_true(bytes.failed);
	/* Longer than need be, but within ten bytes: a number all the same. */
	bytes = bp_bytes_of(padded, sizeof padded);
	assert_true(bp_bytes_varint(&bytes) == 1);
	assert_false(bytes.failed);
}

static void zigzag(void **state)
{
	static const struct {
		int64_t value;
		uint64_t code;
	} known[] = { { 0, 0 }, { -1, 1 }, { 1, 2 }, { -2, 3 }, { 2, 4 },
		{ INT64_MAX, UINT64_MAX - 1 }, { INT64_MIN, UINT64_MAX } };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(known); i++) {
		assert_true(bp_zigzag(known[i].value) == known[i].code);
		assert_true(bp_unzigzag(known[i].code) == known[i].value);
	}
}

static void reading_stays_inside(void **state)
{
	static const uint8_t data[] = { 1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9 };
	struct bp_bytes bytes = bp_bytes_of(data, sizeof data);
	(void)state;
	assert_int_equal(bp_bytes_u8(&bytes), 1);
	assert_int_equal(bp_bytes_u16(&bytes), 2);
	assert_int_equal(bp_bytes_u32(&bytes), 3);
	assert_int_equal(bp_bytes_u64(&bytes), 4);
	assert_int_equal(bp_bytes_left(&bytes), 1);
	assert_false(bytes.failed);
	/* The last byte is not half of a number, and is gone after the attempt. */
	assert_int_equal(bp_bytes_u16(&bytes), 0);
	assert_true(bytes.failed);
	assert_int_equal(bp_bytes_left(&bytes), 0);
	assert_int_equal(bp_bytes_u8(&bytes), 0);
	assert_null(bp_bytes_take(&bytes, 0));

	bytes = bp_bytes_of(data, sizeof data);
	assert_null(bp_bytes_take(&bytes, UINT64_MAX));
	assert_true(bytes.failed);
	bytes = bp_bytes_of(data, sizeof data);
	assert_ptr_equal(bp_bytes_take(&bytes, sizeof data), data);
	assert_false(bytes.failed);
	bytes = bp_bytes_of(NULL, 0);
	assert_int_equal(bp_bytes_left(&bytes), 0);
	assert_int_equal(bp_bytes_varint(&bytes), 0);
	assert_true(bytes.failed);
}

static void writing_stays_inside(void **state)
{
	uint8_t data[16];
	struct bp_bytes_out out = bp_bytes_out_of(data, 15);
	struct bp_bytes bytes;
	(void)state;
	memset(data, 0xee, sizeof data);
	bp_bytes_put_u8(&out, 1);
	bp_bytes_put_u16(&out, 0x0302);
	bp_bytes_put_u32(&out, 0x07060504);
	bp_bytes_put_varint(&out, 300);
	bp_bytes_put_zigzag(&out, -300);
	assert_false(out.failed);
	assert_int_equal(out.at - data, 11);
	/* Does not fit: nothing of it is written, and nothing after it. */
	bp_bytes_put_u64(&out, 0);
	assert_true(out.failed);
	bp_bytes_put_u8(&out, 0);
	assert_int_equal(out.at - data, 11);
	for (size_t i = 11; i < sizeof data; i++)
		assert_int_equal(data[i], 0xee);
	bytes = bp_bytes_of(data, 11);
	for (uint8_t i = 1; i <= 7; i++)
		assert_int_equal(bp_bytes_u8(&bytes), i);
	assert_int_equal(bp_bytes_varint(&bytes), 300);
	assert_int_equal(bp_bytes_zigzag(&bytes), -300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varint_codes),
		cmocka_unit_test(varint_round_trip),
		cmocka_unit_test(varint_too_long),
		cmocka_unit_test(zigzag),
		cmocka_unit_test(reading_stays_inside),
		cmocka_unit_test(writing_stays_inside),
	};
	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
