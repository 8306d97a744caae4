/* SPDX-License-Identifier: MIT */
/*
 * The cells of a page, little endian, columns one after the other, each at a multiple of 8:
 *
 *	OFFSET SIZE  MEANING
 *	0      4     "BPC2"
 *	4      4     R, rows (cells)
 *	8      4     U, records of sums
 *	12     4     0
 *	16     4 R   stack; then 4 R record, 2 R thread, 2 R type, and of R bytes each: size class, made,
 *	             freed, flags, class of size_classes.h; then 18 columns of 8 U: the records
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "page/html_data.h"

#define COLUMNS 16

struct writer {
	unsigned char *data;
	size_t at;
};

static void align(struct writer *writer)
{
	writer->at = (writer->at + 7) / 8 * 8;
}

static void put(struct writer *writer, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		writer->data[writer->at++] = (unsigned char)(value >> 8 * i);
}

static uint32_t at_most(uint32_t value, uint32_t max)
{
	return value < max ? value : max;
}

static uint64_t field(
	const struct bp_page_source *source, const struct bp_cube_cell *cell, unsigned column)
{
	switch (column) {
	case 0:
		return cell->stack;
	case 1:
		return cell->record;
	case 2:
		return source->numbers.threads[cell->thread];
	case 3:
		return at_most(cell->type, BP_PAGE_ENTRIES_MAX);
	case 4:
		return cell->size_class;
	case 5:
		return cell->made;
	case 6:
		return cell->freed;
	case 7:
		return cell->flags;
	default:
		return cell->number;
	}
}

static double sum(const struct bp_sums *sums, unsigned column)
{
	const double values[COLUMNS] = { (double)sums->samples, sums->bytes, sums->c1, sums->c2,
		sums->c3, sums->n1, sums->n2, sums->n3, sums->log_pi_sum, (double)sums->first_size,
		(double)sums->first_interval, sums->first_charge, sums->first_value,
		(double)(sums->has_first | sums->mixed << 1 | sums->bernoulli << 2 |
			 sums->single_size << 3),
		(double)sums->interval_max, sums->ratio_max };
	return values[column];
}

bool bp_page_write_cells(const struct bp_page_source *source, struct bp_page_bytes *ret_bytes,
	struct bp_error *error)
{
	static const unsigned sizes[] = { 4, 4, 2, 2, 1, 1, 1, 1, 1 };
	const struct bp_cube *cube = source->cube;
	const size_t room = 16 + 17 * ((size_t)cube->cell_count) +
			    COLUMNS * 8 * (size_t)cube->record_count + 8 * BP_COUNT(sizes);
	struct writer writer = { .data = calloc(1, room) };
	if (writer.data == NULL)
		return bp_error_set(error, "out of memory");
	memcpy(writer.data, "BPC2", 4);
	writer.at = 4;
	put(&writer, cube->cell_count, 4);
	put(&writer, cube->record_count, 4);
	put(&writer, 0, 4);
	for (unsigned column = 0; column < BP_COUNT(sizes); column++) {
		align(&writer);
		for (uint32_t i = 0; i < cube->cell_count; i++)
			put(&writer, field(source, &cube->cells[i], column), sizes[column]);
	}
	align(&writer);
	for (unsigned column = 0; column < COLUMNS; column++)
		for (uint32_t i = 0; i < cube->record_count; i++) {
			const double value = sum(&cube->records[i], column);
			uint64_t bits;
			memcpy(&bits, &value, sizeof bits);
			put(&writer, bits, 8);
		}
	*ret_bytes = (struct bp_page_bytes){ (char *)writer.data, writer.at };
	return true;
}
