/* SPDX-License-Identifier: MIT */
/*
 * A table of rows of numbers that only grows, at as few bytes a row as its numbers need: for tables
 * of tens of millions of rows, each of which must still be read by its number at once.
 *
 * Rows are kept in blocks of BP_PACKED_ROWS. Of each column a block has once the high bytes that
 * are the same in all rows, and of every row the low bytes that are not:
 *
 *	block	where its rows are; where columns are in a row, at how many bytes; what their rows share
 *	rows	row 0: low bytes of column 0, column 1 ...; row 1 ...; without a gap, little endian
 *
 * Neighbours are mostly alike (times, sequence numbers), or few different numbers (indices), so
 * that eight bytes shrink to one, two or three; whatever the numbers are, they come back as they
 * were. (Counting in bits takes a fifth less memory, and twice the instructions.) Blocks lie side
 * by side and apart from their rows, 64 bytes each, so that what is read at random waits for memory
 * twice and not four times. The rows that do not fill a block yet are kept as they are. A row is
 * written once.
 *
 * Zeroed memory is an empty table, and columns of zeros take no room. Thread-safety: reading is
 * safe from several threads.
 */
#ifndef BP_BASE_PACKED_H
#define BP_BASE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "base/vec.h"

#define BP_PACKED_COLUMNS 5u
#define BP_PACKED_ROWS_LOG2 10u
#define BP_PACKED_ROWS (1u << BP_PACKED_ROWS_LOG2)
#define BP_PACKED_SLACK 8u /* bytes behind the rows that may be read */

struct bp_packed_row {
	uint64_t column[BP_PACKED_COLUMNS];
};

/* Row r of column c has shared[c] | its low bytes. */
struct bp_packed_block {
	uint8_t *rows;
	uint8_t row_bytes, at[BP_PACKED_COLUMNS], bytes[BP_PACKED_COLUMNS];
	uint64_t shared[BP_PACKED_COLUMNS];
};

struct bp_packed {
	uint32_t count;	     /* of rows */
	struct bp_slab slab; /* where the rows of blocks are */
	struct bp_packed_block *blocks;
	uint32_t block_count, block_capacity;
	struct bp_packed_row *pending; /* room for a block, NULL before the first row */
};

/* So many low bytes. */
static inline uint64_t bp_packed_mask(unsigned bytes)
{
	static const uint64_t masks[] = { 0, UINT64_MAX >> 56, UINT64_MAX >> 48, UINT64_MAX >> 40,
		UINT64_MAX >> 32, UINT64_MAX >> 24, UINT64_MAX >> 16, UINT64_MAX >> 8, UINT64_MAX };
	return masks[bytes];
}

static inline uint64_t bp_packed_in_block(
	const struct bp_packed_block *block, size_t row, unsigned column)
{
	uint64_t value;
	memcpy(&value, block->rows + row * block->row_bytes + block->at[column], sizeof value);
	return block->shared[column] | (value & bp_packed_mask(block->bytes[column]));
}

/* Column `column` of row `row` < count. */
static inline uint64_t bp_packed_get(const struct bp_packed *table, uint32_t row, unsigned column)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2, in_block = row & (BP_PACKED_ROWS - 1);
	if (number == table->block_count)
		return table->pending[in_block].column[column];
	return bp_packed_in_block(&table->blocks[number], in_block, column);
}

/* The first `columns` (a constant, for speed) columns of a row. */
static inline struct bp_packed_row bp_packed_row_of(
	const struct bp_packed *table, uint32_t row, unsigned columns)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2, in_block = row & (BP_PACKED_ROWS - 1);
	struct bp_packed_row found;
	if (number == table->block_count)
		return table->pending[in_block];
#pragma GCC unroll 6
	for (unsigned c = 0; c < columns; c++)
		found.column[c] = bp_packed_in_block(&table->blocks[number], in_block, c);
	return found;
}

/* Where a row is, for __builtin_prefetch. (Not done here: gcc takes a function that does nothing
 * else for one without effect, and leaves it out.) */
static inline const void *bp_packed_where(const struct bp_packed *table, uint32_t row)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2;
	if (number >= table->block_count)
		return NULL;
	const struct bp_packed_block *block = &table->blocks[number];
	return block->rows + (row & (BP_PACKED_ROWS - 1)) * block->row_bytes;
}

/* What the rows of a full block share. */
static inline struct bp_packed_block bp_packed_measure(
	const struct bp_packed *table, unsigned columns)
{
	const struct bp_packed_row first = table->pending[0];
	struct bp_packed_row differs = { { 0 } };
	struct bp_packed_block block = { .row_bytes = 0 };
	for (uint32_t i = 1; i < BP_PACKED_ROWS; i++)
#pragma GCC unroll 6
		for (unsigned c = 0; c < columns; c++)
			differs.column[c] |= table->pending[i].column[c] ^ first.column[c];
	for (unsigned c = 0; c < columns; c++) {
		const unsigned bits = differs.column[c] == 0
					      ? 0
					      : 64 - (unsigned)__builtin_clzll(differs.column[c]);
		block.bytes[c] = (uint8_t)((bits + 7) / 8);
		block.shared[c] = first.column[c] & ~bp_packed_mask(block.bytes[c]);
		block.at[c] = block.row_bytes;
		block.row_bytes = (uint8_t)(block.row_bytes + block.bytes[c]);
	}
	return block;
}

/* Makes a block of the pending rows. False: no memory. */
static inline bool bp_packed_seal(struct bp_packed *table, unsigned columns)
{
	struct bp_packed_block block = bp_packed_measure(table, columns);
	if (!bp_vec_reserve(&table->blocks, &table->block_capacity,
		    (uint64_t)table->block_count + 1, sizeof *table->blocks))
		return false;
	block.rows = bp_slab_take(
		&table->slab, BP_PACKED_ROWS * (size_t)block.row_bytes + BP_PACKED_SLACK);
	if (block.rows == NULL)
		return false;
	/* Each number is written whole: what is behind its low bytes is overwritten by the next. */
	uint8_t *to = block.rows;
	for (uint32_t i = 0; i < BP_PACKED_ROWS; i++, to += block.row_bytes)
#pragma GCC unroll 6
		for (unsigned c = 0; c < columns; c++)
			memcpy(to + block.at[c], &table->pending[i].column[c], sizeof(uint64_t));
	table->blocks[table->block_count++] = block;
	return true;
}

/* Appends a row, of which the first `columns` count (a constant, for speed, and always the same for
 * a table; the others come back as anything). False: no memory, or more rows than 32 bits count. */
static inline bool bp_packed_add(
	struct bp_packed *table, const struct bp_packed_row *row, unsigned columns)
{
	const uint32_t in_block = table->count & (BP_PACKED_ROWS - 1);
	if (table->pending == NULL)
		table->pending =
			(struct bp_packed_row *)malloc(BP_PACKED_ROWS * sizeof *table->pending);
	if (table->pending == NULL || table->count == UINT32_MAX)
		return false;
		/* One by one, so that a row just made is not read in larger pieces than it was
	 * written in. */
#pragma GCC unroll 6
	for (unsigned c = 0; c < columns; c++)
		table->pending[in_block].column[c] = row->column[c];
	if (in_block == BP_PACKED_ROWS - 1 && !bp_packed_seal(table, columns))
		return false;
	table->count++;
	return true;
}

static inline void bp_packed_finish(struct bp_packed *table)
{
	bp_slab_finish(&table->slab);
	free(table->blocks);
	free(table->pending);
	memset(table, 0, sizeof *table);
}

#endif
