/* SPDX-License-Identifier: MIT */
/*
 * A table of rows of numbers that only grows, at as few bits a row as its numbers need: for tables of
 * tens of millions of rows, each of which must still be read by its number at once.
 *
 * Rows are kept in blocks of BP_PACKED_ROWS. Of each column a block has the smallest number, and of every
 * row the differences from those, each column in as many bits as its largest difference takes:
 *
 *	block	base of column 0, 1 ...; bits
 *	bits	row 0: column 0, column 1 ...; row 1 ...; without a gap, least significant bit first
 *
 * Neighbours are mostly alike (times, sequence numbers), or few different numbers (indices), so that eight
 * bytes shrink to two or three; whatever the numbers are, they come back as they were. The rows that do
 * not fill a block yet are kept as they are. A row is written once.
 *
 * Zeroed memory with `columns` set is an empty table. Thread-safety: reading is safe from several threads.
 */
#ifndef BP_BASE_PACKED_H
#define BP_BASE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define BP_PACKED_COLUMNS 5u
#define BP_PACKED_ROWS_LOG2 10u
#define BP_PACKED_ROWS (1u << BP_PACKED_ROWS_LOG2)
#define BP_PACKED_SLACK 16u /* bytes behind the bits that may be read */

struct bp_packed_row {
	uint64_t column[BP_PACKED_COLUMNS];
};

struct bp_packed_block {
	uint64_t base[BP_PACKED_COLUMNS];
	uint8_t width[BP_PACKED_COLUMNS]; /* bits, 0 .. 64 */
	uint16_t at[BP_PACKED_COLUMNS];	  /* first bit in the row */
	uint32_t row_bits;
	uint8_t bits[];
};

struct bp_packed {
	uint32_t columns; /* 1 .. BP_PACKED_COLUMNS; the caller's to set */
	uint32_t count;	  /* of rows */
	struct bp_packed_block **blocks;
	uint32_t block_count, block_capacity;
	struct bp_packed_row *pending; /* room for a block, NULL before the first row */
};

static inline uint64_t bp_packed_bits(const uint8_t *bits, uint64_t at, unsigned width)
{
	const uint8_t *from = bits + at / 8;
	const unsigned shift = at % 8;
	uint64_t value;
	if (width == 0)
		return 0;
	memcpy(&value, from, sizeof value);
	value >>= shift;
	if (shift + width > 64)
		value |= (uint64_t)from[8] << (64 - shift);
	return value & UINT64_MAX >> (64 - width);
}

static inline void bp_packed_put_bits(uint8_t *bits, uint64_t at, uint64_t value)
{
	uint8_t *to = bits + at / 8;
	const unsigned shift = at % 8;
	uint64_t word;
	memcpy(&word, to, sizeof word);
	word |= value << shift;
	memcpy(to, &word, sizeof word);
	if (shift != 0)
		to[8] = (uint8_t)(to[8] | value >> (64 - shift));
}

/* Column `column` of row `row` < count. */
static inline uint64_t bp_packed_get(const struct bp_packed *table, uint32_t row, unsigned column)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2, in_block = row & (BP_PACKED_ROWS - 1);
	if (number == table->block_count)
		return table->pending[in_block].column[column];
	const struct bp_packed_block *block = table->blocks[number];
	return block->base[column] +
	       bp_packed_bits(block->bits, (uint64_t)in_block * block->row_bits + block->at[column],
		       block->width[column]);
}

/* The first `columns` (a constant, for speed) columns of a row. */
static inline struct bp_packed_row bp_packed_row_of(
	const struct bp_packed *table, uint32_t row, unsigned columns)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2, in_block = row & (BP_PACKED_ROWS - 1);
	struct bp_packed_row found;
	if (number == table->block_count)
		return table->pending[in_block];
	const struct bp_packed_block *block = table->blocks[number];
	const uint64_t at = (uint64_t)in_block * block->row_bits;
#pragma GCC unroll 5
	for (unsigned c = 0; c < columns; c++)
		found.column[c] = block->base[c] +
				  bp_packed_bits(block->bits, at + block->at[c], block->width[c]);
	return found;
}

/* Where a row is, for __builtin_prefetch. (Not done here: gcc takes a function that does nothing else for
 * one without effect, and leaves it out.) */
static inline const void *bp_packed_where(const struct bp_packed *table, uint32_t row)
{
	const uint32_t number = row >> BP_PACKED_ROWS_LOG2;
	if (number >= table->block_count)
		return NULL;
	const struct bp_packed_block *block = table->blocks[number];
	return block->bits + (uint64_t)(row & (BP_PACKED_ROWS - 1)) * block->row_bits / 8;
}

/* The base and width of every column of a full block; returns the bits of a row. */
static inline uint32_t bp_packed_measure(
	const struct bp_packed *table, struct bp_packed_block *ret_block)
{
	uint32_t row_bits = 0;
	for (unsigned c = 0; c < table->columns; c++) {
		uint64_t least = UINT64_MAX, most = 0;
		for (uint32_t i = 0; i < BP_PACKED_ROWS; i++) {
			const uint64_t value = table->pending[i].column[c];
			least = value < least ? value : least;
			most = value > most ? value : most;
		}
		ret_block->base[c] = least;
		ret_block->width[c] =
			(uint8_t)(most == least ? 0 : 64 - __builtin_clzll(most - least));
		ret_block->at[c] = (uint16_t)row_bits;
		row_bits += ret_block->width[c];
	}
	ret_block->row_bits = row_bits;
	return row_bits;
}

/* Makes a block of the pending rows. False: no memory. */
static inline bool bp_packed_seal(struct bp_packed *table)
{
	struct bp_packed_block head = { .row_bits = 0 };
	const size_t bytes = (size_t)bp_packed_measure(table, &head) * (BP_PACKED_ROWS / 8);
	if (!bp_vec_reserve(&table->blocks, &table->block_capacity,
		    (uint64_t)table->block_count + 1, sizeof(struct bp_packed_block *)))
		return false;
	struct bp_packed_block *block =
		(struct bp_packed_block *)calloc(1, sizeof *block + bytes + BP_PACKED_SLACK);
	if (block == NULL)
		return false;
	*block = head;
	uint64_t at = 0;
	for (uint32_t i = 0; i < BP_PACKED_ROWS; i++)
		for (unsigned c = 0; c < table->columns; c++) {
			bp_packed_put_bits(
				block->bits, at, table->pending[i].column[c] - block->base[c]);
			at += block->width[c];
		}
	table->blocks[table->block_count++] = block;
	return true;
}

/* Appends a row. False: no memory, or more rows than 32 bits count. */
static inline bool bp_packed_add(struct bp_packed *table, const struct bp_packed_row *row)
{
	const uint32_t in_block = table->count & (BP_PACKED_ROWS - 1);
	if (table->pending == NULL)
		table->pending =
			(struct bp_packed_row *)malloc(BP_PACKED_ROWS * sizeof *table->pending);
	if (table->pending == NULL || table->count == UINT32_MAX)
		return false;
	table->pending[in_block] = *row;
	if (in_block == BP_PACKED_ROWS - 1 && !bp_packed_seal(table))
		return false;
	table->count++;
	return true;
}

static inline void bp_packed_finish(struct bp_packed *table)
{
	for (uint32_t i = 0; i < table->block_count; i++)
		free(table->blocks[i]);
	free(table->blocks);
	free(table->pending);
	memset(table, 0, sizeof *table);
}

#endif
