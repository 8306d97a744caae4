/* SPDX-License-Identifier: MIT */
/*
 * See heap_picture.h. A cell is a range of blocks of one part of the heap (heap_pages.h), the
 * smallest power of two of them with which all parts fit into LINES_MAX lines. A part begins a line
 * of its own. Of a cell stands above how much of its range is live, and below the letter of the row
 * whose samples keep most there: they are samples, so that a cell may have none.
 */
#include "report/parts/heap_picture.h"

#include <stdlib.h>

#include "report/parts/header.h"

#define LINES_MAX 16u
#define ADDRESS_COLUMNS 14u
#define MARGIN_COLUMNS 4u
#define CELLS_LEAST 16u
#define OWNERS (BP_PICTURE_LETTERS + 1u) /* the last: of all other rows */

struct cell {
	uint64_t live, resident;
	double kept[OWNERS];
};

struct picture {
	const struct bp_heap_pages *pages;
	unsigned columns;     /* cells in a line */
	uint32_t cell_blocks; /* blocks in a cell */
	uint32_t lines, left_out;
};

static uint32_t end_block(const struct bp_heap_pages *pages, const struct bp_heap_part *part)
{
	return part + 1 < pages->parts + pages->part_count ? part[1].first_block
							   : pages->block_count;
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
	return a / b + (a % b != 0);
}

static uint32_t lines_of(const struct picture *picture)
{
	uint32_t lines = 0;
	for (uint32_t i = 0; i < picture->pages->part_count; i++) {
		const struct bp_heap_part *part = &picture->pages->parts[i];
		const uint32_t blocks = end_block(picture->pages, part) - part->first_block;
		if (!part->alone)
			lines += divide_up(
				divide_up(blocks, picture->cell_blocks), picture->columns);
	}
	return lines;
}

static struct picture lay_out(const struct bp_heap_pages *pages, unsigned columns)
{
	struct picture picture = { .pages = pages, .cell_blocks = 1 };
	const unsigned beside = ADDRESS_COLUMNS + MARGIN_COLUMNS;
	picture.columns = columns > beside + CELLS_LEAST ? columns - beside : CELLS_LEAST;
	while (lines_of(&picture) > LINES_MAX && picture.cell_blocks < BP_HEAP_BLOCKS_MAX)
		picture.cell_blocks *= 2;
	return picture;
}

/* What is in `count` cells from a block on, of a part that ends at block `end`. */
static void fill_cells(const struct picture *picture, uint32_t first, uint32_t end, uint32_t count,
	struct cell *cells)
{
	for (uint32_t i = 0; i < count; i++) {
		cells[i] = (struct cell){ 0 };
		for (uint32_t b = 0; b < picture->cell_blocks; b++) {
			const uint32_t block = first + i * picture->cell_blocks + b;
			if (block >= end)
				break;
			cells[i].live += picture->pages->live_bytes[block];
			for (uint32_t p = 0; p < BP_HEAP_BLOCK_PAGES; p++)
				if (picture->pages->chunks[(size_t)block * BP_HEAP_BLOCK_PAGES +
							   p] != BP_HEAP_PAGE_ABSENT)
					cells[i].resident += BP_HEAP_PAGE_BYTES;
		}
	}
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Adds to these cells, which take `bytes` each from `start` on, what samples keep of them: of a
 * chunk in several cells in proportion. */
static void add_owners(const struct bp_keepers *keepers, uint64_t start, uint64_t bytes,
	uint32_t count, struct cell *cells)
{
	for (uint32_t i = 0; i < keepers->sample_count; i++) {
		const struct bp_kept_sample *sample = &keepers->samples[i];
		const uint64_t end = start + count * bytes, first = max(sample->at, start),
			       last = min(sample->at + sample->bytes, end);
		const uint32_t owner =
			sample->keeper < BP_PICTURE_LETTERS ? sample->keeper : BP_PICTURE_LETTERS;
		for (uint64_t at = first; at < last;) {
			const uint64_t cell = (at - start) / bytes;
			const uint64_t next = min(start + (cell + 1) * bytes, last);
			cells[cell].kept[owner] +=
				sample->kept * (double)(next - at) / (double)sample->bytes;
			at = next;
		}
	}
}

static const char *shade(const struct cell *cell, bool utf8)
{
	static const char *const shades[2][6] = { { " ", ".", ":", "o", "%", "#" },
		{ " ", "·", "░", "▒", "▓", "█" } };
	unsigned level = 0;
	if (cell->resident > 0)
		level = cell->live == 0 ? 1 : 2 + (unsigned)(4 * cell->live / cell->resident);
	return shades[utf8][level < 5 ? level : 5];
}

static char letter(const struct cell *cell)
{
	double most = 0;
	char found = ' ';
	for (uint32_t i = 0; i < OWNERS; i++)
		if (cell->kept[i] > most) {
			most = cell->kept[i];
			found = i < BP_PICTURE_LETTERS ? (char)('A' + i) : '-';
		}
	return found;
}

static void write_line(const struct cell *cells, uint32_t count, uint64_t address,
	const struct bp_report_options *options, FILE *out)
{
	uint32_t last = 0;
	fprintf(out, "  %s%*llx%s  ", bp_style_dim(options), (int)ADDRESS_COLUMNS,
		(unsigned long long)address, bp_style_end(options));
	for (uint32_t i = 0; i < count; i++)
		fputs(shade(&cells[i], options->utf8), out);
	putc('\n', out);
	for (uint32_t i = 0; i < count; i++)
		last = letter(&cells[i]) != ' ' ? i + 1 : last;
	if (last == 0)
		return;
	fprintf(out, "  %*s  ", (int)ADDRESS_COLUMNS, "");
	for (uint32_t i = 0; i < last; i++)
		putc(letter(&cells[i]), out);
	putc('\n', out);
}

static void write_part(const struct bp_keepers *keepers, struct picture *picture,
	const struct bp_heap_part *part, struct cell *cells,
	const struct bp_report_options *options, FILE *out)
{
	const uint32_t end = end_block(picture->pages, part);
	const uint64_t block_bytes = BP_HEAP_BLOCK_PAGES * (uint64_t)BP_HEAP_PAGE_BYTES;
	const uint64_t cell_bytes = picture->cell_blocks * block_bytes;
	for (uint32_t block = part->first_block; block < end;) {
		const uint32_t left = divide_up(end - block, picture->cell_blocks);
		const uint32_t count = left < picture->columns ? left : picture->columns;
		const uint64_t address = part->start + (block - part->first_block) * block_bytes;
		if (picture->lines++ < LINES_MAX) {
			fill_cells(picture, block, end, count, cells);
			add_owners(keepers, address, cell_bytes, count, cells);
			write_line(cells, count, address, options, out);
		} else
			picture->left_out++;
		if (left <= picture->columns)
			return;
		block += count * picture->cell_blocks;
	}
}

static void write_legend(const struct bp_keepers *keepers, const struct picture *picture,
	const struct bp_report_options *options, FILE *out)
{
	char cell[BP_QUANTITY_BYTES], text[768];
	const uint64_t cell_bytes =
		(uint64_t)picture->cell_blocks * BP_HEAP_BLOCK_PAGES * BP_HEAP_PAGE_BYTES;
	bp_bytes_text(cell_bytes, bp_style_of(options), cell);
	snprintf(text, sizeof text,
		"A cell is %.40s of the heap. %s: resident, and nothing lives there; %s less than a "
		"quarter lives, %s less than a half, %s less than three quarters, %s more; blank: "
		"not resident. Letters: whose samples keep most of the cell%s.%s",
		cell, options->utf8 ? "·" : ".", options->utf8 ? "░" : ":",
		options->utf8 ? "▒" : "o", options->utf8 ? "▓" : "%", options->utf8 ? "█" : "#",
		keepers->count > BP_PICTURE_LETTERS ? "; -: those of other rows" : "",
		picture->left_out > 0 ? " What does not fit is left out." : "");
	bp_write_note(options, text, out);
}

void bp_write_heap_picture(
	const struct bp_keepers *keepers, const struct bp_report_options *options, FILE *out)
{
	struct picture picture = lay_out(keepers->pages, options->columns);
	struct cell *cells = calloc(picture.columns, sizeof *cells);
	if (cells == NULL)
		return;
	putc('\n', out);
	for (uint32_t i = 0; i < picture.pages->part_count; i++)
		if (!picture.pages->parts[i].alone)
			write_part(
				keepers, &picture, &picture.pages->parts[i], cells, options, out);
	if (picture.lines > 0)
		write_legend(keepers, &picture, options, out);
	free(cells);
}
