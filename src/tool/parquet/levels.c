/* SPDX-License-Identifier: MIT */
/*
 * See levels.h. What is equal eight times or more is a run; what lies between two runs is packed in
 * groups of eight, of which the last of all is filled up with zeros.
 */
#include "parquet/levels.h"

#define GROUP 8u

unsigned bp_parquet_width(uint32_t count)
{
	unsigned width = 0;
	while (width < 32 && count > 1u && (count - 1) >> width != 0)
		width++;
	return width;
}

static size_t run_at(const uint32_t *numbers, size_t count, size_t from)
{
	size_t to = from + 1;
	while (to < count && numbers[to] == numbers[from])
		to++;
	return to - from;
}

static void put_run(struct bp_parquet_buffer *out, uint32_t number, size_t length, unsigned width)
{
	bp_parquet_buffer_varint(out, (uint64_t)length << 1);
	bp_parquet_buffer_put(out, &number, (width + 7) / 8);
}

/* The lowest bit of each byte first, and zeros up to a whole byte. */
static void put_bits(
	struct bp_parquet_buffer *out, const uint32_t *numbers, size_t count, unsigned width)
{
	uint64_t bits = 0;
	unsigned held = 0;
	for (size_t i = 0; i < count; i++) {
		bits |= (uint64_t)numbers[i] << held;
		held += width;
		for (; held >= 8; held -= 8, bits >>= 8)
			bp_parquet_buffer_put(out, &(uint8_t){ (uint8_t)bits }, 1);
	}
	if (held > 0)
		bp_parquet_buffer_put(out, &(uint8_t){ (uint8_t)bits }, 1);
}

/* Whole groups, but for the last of all numbers. */
static void put_groups(
	struct bp_parquet_buffer *out, const uint32_t *numbers, size_t count, unsigned width)
{
	const size_t whole = count / GROUP * GROUP;
	if (count == 0)
		return;
	bp_parquet_buffer_varint(out, (uint64_t)((count + GROUP - 1) / GROUP) << 1 | 1);
	put_bits(out, numbers, whole, width);
	if (count > whole) {
		uint32_t last[GROUP] = { 0 };
		for (size_t i = whole; i < count; i++)
			last[i - whole] = numbers[i];
		put_bits(out, last, GROUP, width);
	}
}

void bp_parquet_levels(
	struct bp_parquet_buffer *out, const uint32_t *numbers, size_t count, unsigned width)
{
	size_t packed = 0, at = 0; /* [packed, at) is to be packed */
	while (at < count) {
		const size_t length = run_at(numbers, count, at);
		/* What of the run fills the group that is open before it. */
		const size_t fill = (GROUP - (at - packed) % GROUP) % GROUP;
		if (length < fill + GROUP) {
			at += length;
			continue;
		}
		put_groups(out, numbers + packed, at + fill - packed, width);
		put_run(out, numbers[at], length - fill, width);
		at += length;
		packed = at;
	}
	put_groups(out, numbers + packed, count - packed, width);
}
