/* SPDX-License-Identifier: MIT */
/*
 * See go_text_lines.h. Go aligns the columns of a record with tabs, so that one or more of them
 * stand between two columns, and names have none. Names and files may hold spaces and colons: a
 * name ends at its tab, an offset begins at the last `+0x`, a line at the last colon.
 */
#include "import/pprof/go_text_lines.h"

#include <string.h>

#define MARK_OF_HEAP "heap profile: "

static size_t bytes_of(struct bp_go_text text)
{
	return (size_t)(text.end - text.at);
}

bool bp_go_text_is_empty(struct bp_go_text text)
{
	return text.at == text.end;
}

bool bp_go_text_begins(struct bp_go_text text, const char *with)
{
	const size_t bytes = strlen(with);
	return bytes_of(text) >= bytes && memcmp(text.at, with, bytes) == 0;
}

bool bp_go_text_skip(struct bp_go_text *text, const char *words)
{
	if (!bp_go_text_begins(*text, words))
		return false;
	text->at += strlen(words);
	return true;
}

bool bp_go_text_next_line(struct bp_go_text *position, struct bp_go_text *ret_line)
{
	if (bp_go_text_is_empty(*position))
		return false;
	const char *end = memchr(position->at, '\n', bytes_of(*position));
	if (end == NULL)
		return false;
	*ret_line = (struct bp_go_text){ position->at, end };
	if (end > position->at && end[-1] == '\r')
		ret_line->end--;
	position->at = end + 1;
	return true;
}

/* ---- numbers ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool read_digits(struct bp_go_text *text, unsigned base, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *at = text->at;
	for (; at < text->end && digit_of(*at) < (int)base; at++)
		if (__builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, (unsigned)digit_of(*at), &number))
			return false;
	if (at == text->at)
		return false;
	text->at = at;
	*ret_number = number;
	return true;
}

bool bp_go_text_read_number(struct bp_go_text *text, uint64_t *ret_number)
{
	return read_digits(text, 10, ret_number);
}

static bool read_hex(struct bp_go_text *text, uint64_t *ret_number)
{
	return bp_go_text_skip(text, "0x") && read_digits(text, 16, ret_number);
}

static bool read_signed(struct bp_go_text *text, int64_t *ret_number)
{
	const bool negative = bp_go_text_skip(text, "-");
	uint64_t number;
	if (!bp_go_text_read_number(text, &number) || number > INT64_MAX)
		return false;
	*ret_number = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

/* ---- the first line and those of records ---- */

bool bp_go_text_read_figures(struct bp_go_text *line, struct bp_go_text_figures *ret_figures)
{
	struct bp_go_text at = *line;
	struct bp_go_text_figures figures;
	if (!read_signed(&at, &figures.live_objects) || !bp_go_text_skip(&at, ": ") ||
		!read_signed(&at, &figures.live_bytes) || !bp_go_text_skip(&at, " [") ||
		!read_signed(&at, &figures.allocated_objects) || !bp_go_text_skip(&at, ": ") ||
		!read_signed(&at, &figures.allocated_bytes) || !bp_go_text_skip(&at, "] @"))
		return false;
	*line = at;
	*ret_figures = figures;
	return true;
}

bool bp_go_text_read_header(struct bp_go_text line, struct bp_go_text_figures *ret_figures,
	uint64_t *ret_twice_the_interval)
{
	struct bp_go_text_figures figures;
	uint64_t interval;
	if (!bp_go_text_skip(&line, MARK_OF_HEAP) || !bp_go_text_read_figures(&line, &figures) ||
		!bp_go_text_skip(&line, " heap/") || !bp_go_text_read_number(&line, &interval) ||
		!bp_go_text_is_empty(line))
		return false;
	*ret_figures = figures;
	*ret_twice_the_interval = interval;
	return true;
}

bool bp_go_text_next_pc(struct bp_go_text *line, uint64_t *ret_pc)
{
	struct bp_go_text at = *line;
	if (!bp_go_text_skip(&at, " ") || !read_hex(&at, ret_pc))
		return false;
	*line = at;
	return true;
}

/* ---- frames ---- */

static bool skip_tabs(struct bp_go_text *text)
{
	const char *from = text->at;
	while (text->at < text->end && *text->at == '\t')
		text->at++;
	return text->at > from;
}

/* The text up to the next tab. */
static struct bp_go_text take_column(struct bp_go_text *text)
{
	const char *end =
		bp_go_text_is_empty(*text) ? NULL : memchr(text->at, '\t', bytes_of(*text));
	const struct bp_go_text column = { text->at, end == NULL ? text->end : end };
	text->at = column.end;
	return column;
}

/* Separates `main.small+0x24`. A name without an offset is whole. */
static void read_name(struct bp_go_text column, struct bp_go_text_frame *frame)
{
	frame->name = column;
	for (const char *at = column.end; at > column.at; at--) {
		struct bp_go_text offset = { at, column.end };
		if (!bp_go_text_skip(&offset, "+"))
			continue;
		if (read_hex(&offset, &frame->offset) && bp_go_text_is_empty(offset))
			frame->name.end = at;
		return;
	}
}

/* Separates `/src/truth.go:28`. */
static void read_place(struct bp_go_text column, struct bp_go_text_frame *frame)
{
	frame->file = column;
	for (const char *at = column.end; at > column.at; at--) {
		struct bp_go_text line = { at, column.end };
		uint64_t number;
		if (!bp_go_text_skip(&line, ":"))
			continue;
		if (bp_go_text_read_number(&line, &number) && bp_go_text_is_empty(line)) {
			frame->file.end = at;
			frame->line = number <= UINT32_MAX ? (uint32_t)number : 0;
		}
		return;
	}
}

bool bp_go_text_read_frame(struct bp_go_text line, struct bp_go_text_frame *ret_frame)
{
	struct bp_go_text_frame frame = { .name = { line.end, line.end },
		.file = { line.end, line.end } };
	if (!bp_go_text_skip(&line, "#") || !skip_tabs(&line) || !read_hex(&line, &frame.pc))
		return false;
	if (skip_tabs(&line))
		read_name(take_column(&line), &frame);
	if (skip_tabs(&line))
		read_place(line, &frame);
	*ret_frame = frame;
	return true;
}
