/* SPDX-License-Identifier: MIT */
/* See chain_text.h. */
#include "text/chain_text.h"

#include <stdio.h>
#include <string.h>

#include "text/escape.h"
#include "text/name_text.h"

#define BETWEEN_COLUMNS 3 /* of " › " */
#define NUMBER_BYTES 16	  /* of " (18)" */

/* What is written so far. */
struct writer {
	char *buffer;
	size_t bytes, used;
	unsigned columns;
	struct bp_chain_style style;
};

static void put(struct writer *writer, const char *text, unsigned columns)
{
	const size_t left = writer->bytes - writer->used;
	const int length = snprintf(writer->buffer + writer->used, left, "%s", text);
	writer->used += (size_t)length < left ? (size_t)length : left - 1;
	writer->columns += columns;
}

/* What stands before a name that is not the first. */
static void put_between(struct writer *writer)
{
	const char *text = writer->style.callers ? (writer->style.utf8 ? " ‹ " : " < ")
						 : (writer->style.utf8 ? " › " : " > ");
	if (writer->columns > 0)
		put(writer, text, BETWEEN_COLUMNS);
}

static void put_mark(struct writer *writer)
{
	put_between(writer);
	put(writer, writer->style.utf8 ? "…" : "...", writer->style.utf8 ? 1 : 3);
}

static void put_name(struct writer *writer, const char *name, unsigned columns)
{
	char text[4096];
	const unsigned width = (writer->style.as_recorded ? bp_terminal_text : bp_terminal_name)(
		name, writer->style.utf8, columns, text, sizeof text);
	put_between(writer);
	put(writer, text, width);
}

unsigned bp_chain_columns(const char *const *names, uint32_t count, bool utf8)
{
	unsigned columns = (count - 1) * BETWEEN_COLUMNS;
	for (uint32_t i = 0; i < count; i++)
		columns += bp_terminal_columns(names[i], utf8);
	return columns;
}

/* How many names stay at the end that matters, and whether the one at the other end does. */
struct kept {
	uint32_t near;
	bool far, mark;
	unsigned name_columns; /* of a name that is cut */
};

static struct kept choose(
	const char *const *names, uint32_t count, bool callers, bool utf8, unsigned room)
{
	const char *far = names[callers ? count - 1 : 0], *near = names[callers ? 0 : count - 1];
	const unsigned mark = (utf8 ? 1 : 3) + BETWEEN_COLUMNS;
	const unsigned far_columns = bp_terminal_columns(far, utf8) + BETWEEN_COLUMNS;
	struct kept kept = { .near = 1 };
	kept.far = count > 2 && far_columns + mark + bp_terminal_columns(near, utf8) <= room;
	room -= kept.far ? far_columns : 0;
	kept.mark = mark + BETWEEN_COLUMNS < room;
	room -= kept.mark ? mark : 0;
	kept.name_columns = room;
	while (kept.near + 1 + kept.far < count &&
		bp_chain_columns(callers ? names : &names[count - kept.near - 1], kept.near + 1,
			utf8) <= room)
		kept.near++;
	return kept;
}

static void put_some(struct writer *writer, const char *const *names, uint32_t count, unsigned room)
{
	const struct kept kept =
		choose(names, count, writer->style.callers, writer->style.utf8, room);
	const uint32_t first = writer->style.callers ? kept.near : kept.far;
	const uint32_t last = writer->style.callers ? kept.far : kept.near;
	for (uint32_t i = 0; i < first; i++)
		put_name(writer, names[i], kept.name_columns);
	if (kept.mark)
		put_mark(writer);
	for (uint32_t i = count - last; i < count; i++)
		put_name(writer, names[i], kept.name_columns);
}

unsigned bp_chain_text(const char *const *names, uint32_t count, struct bp_chain_style style,
	unsigned columns, char *buffer, size_t buffer_bytes)
{
	struct writer writer = { .buffer = buffer, .bytes = buffer_bytes, .style = style };
	char number[NUMBER_BYTES];
	*buffer = '\0';
	if (count == 1 || bp_chain_columns(names, count, style.utf8) <= columns) {
		for (uint32_t i = 0; i < count; i++)
			put_name(&writer, names[i], columns);
		return writer.columns;
	}
	const unsigned number_columns = (unsigned)snprintf(number, sizeof number, " (%u)", count);
	put_some(&writer, names, count, columns > number_columns ? columns - number_columns : 0);
	put(&writer, number, number_columns);
	return writer.columns;
}
