/* SPDX-License-Identifier: MIT */
/*
 * One decoder of UTF-8 (strict: no overlong forms, no surrogates, nothing above U+10FFFF) and four
 * ways of writing what it finds. See escape.h. Which characters are unsafe: general categories Cc
 * and Cf as far as they hide or reorder text, line and paragraph separators, and unassigned
 * noncharacters; the list is short and written out.
 */
#include "text/escape.h"

#include <string.h>
#include <wchar.h>

#include "base/attributes.h"

#define INVALID UINT32_MAX
#define CELL_BYTES 16

uint32_t bp_utf8_next(const char *text, unsigned *ret_bytes)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	*ret_bytes = 1;
	if (length == 1)
		return p[0];
	if (length == 0 || p[0] > 0xf4)
		return INVALID;
	uint32_t code = p[0] & (0xffu >> (length + 1));
	for (unsigned i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return INVALID;
		code = code << 6 | (p[i] & 0x3f);
	}
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return INVALID;
	*ret_bytes = length;
	return code;
}

bool bp_is_unsafe(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, /* controls, soft hyphen */
		{ 0x61c, 0x61c }, { 0x180e, 0x180e },	/* Arabic mark, Mongolian separator */
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, /* zero width, marks, embeddings */
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, /* isolates, word joiner, BOM */
		{ 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, /* annotations, noncharacters */
		{ 0xfe00, 0xfe0f }, { 0xe000, 0xf8ff }, /* variation, private use */
		{ 0xe0000, 0x10ffff },			/* tags, private planes */
	};
	for (size_t i = 0; i < BP_COUNT(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* One character as it will be shown. */
struct cell {
	char text[CELL_BYTES];
	unsigned columns;
};

static unsigned make_cell(const char *text, bool utf8, struct cell *cell)
{
	unsigned bytes;
	uint32_t code = bp_utf8_next(text, &bytes);
	if (code == INVALID) {
		snprintf(cell->text, sizeof cell->text, "\\x%02x", (unsigned char)*text);
		cell->columns = 4;
	} else if (bp_is_unsafe(code) || (code >= 0x80 && !utf8)) {
		int printed = snprintf(
			cell->text, sizeof cell->text, code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
		cell->columns = (unsigned)printed;
	} else {
		memcpy(cell->text, text, bytes);
		cell->text[bytes] = '\0';
		int columns = code < 0x80 ? 1 : wcwidth((wchar_t)code);
		cell->columns = columns < 0 ? 1 : (unsigned)columns;
	}
	return bytes;
}

/* What text takes when it is written. */
struct extent {
	size_t bytes;
	unsigned columns;
};

static struct extent extent_of(const char *text, bool utf8)
{
	struct extent extent = { 0 };
	struct cell cell;
	while (*text != '\0') {
		text += make_cell(text, utf8, &cell);
		extent.bytes += strlen(cell.text);
		extent.columns += cell.columns;
	}
	return extent;
}

static size_t append(char *buffer, size_t used, const char *text)
{
	const size_t length = strlen(text);
	memcpy(buffer + used, text, length + 1);
	return used + length;
}

/* Joins the first and the last characters around a mark, to fit in `room`, which the whole does
 * not. */
static unsigned cut_in_middle(
	const char *text, bool utf8, struct extent whole, struct extent room, char *buffer)
{
	const char *mark = utf8 ? "…" : "...";
	const unsigned mark_columns = utf8 ? 1 : 3;
	struct extent head = { 0 };
	struct cell cell;
	unsigned bytes;
	size_t used = 0;
	room.columns = room.columns > mark_columns ? room.columns - mark_columns : 0;
	room.bytes -= strlen(mark);
	for (; (bytes = make_cell(text, utf8, &cell)) > 0 &&
		head.columns + cell.columns <= room.columns - room.columns / 2 &&
		head.bytes + strlen(cell.text) <= room.bytes / 2;
		text += bytes) {
		head.columns += cell.columns;
		head.bytes += strlen(cell.text);
		used = append(buffer, used, cell.text);
	}
	used = append(buffer, used, mark);
	whole.columns -= head.columns;
	whole.bytes -= head.bytes;
	while (head.columns + whole.columns > room.columns ||
		head.bytes + whole.bytes > room.bytes) {
		text += make_cell(text, utf8, &cell);
		whole.columns -= cell.columns;
		whole.bytes -= strlen(cell.text);
	}
	while (*text != '\0') {
		text += make_cell(text, utf8, &cell);
		used = append(buffer, used, cell.text);
	}
	return head.columns + mark_columns + whole.columns;
}

unsigned bp_terminal_columns(const char *text, bool utf8)
{
	return extent_of(text, utf8).columns;
}

unsigned bp_terminal_text(
	const char *text, bool utf8, unsigned columns, char *buffer, size_t buffer_bytes)
{
	const struct extent whole = extent_of(text, utf8);
	const struct extent room = { buffer_bytes - 1, columns };
	struct cell cell;
	size_t used = 0;
	buffer[0] = '\0';
	if (whole.columns > room.columns || whole.bytes > room.bytes)
		return cut_in_middle(text, utf8, whole, room, buffer);
	while (*text != '\0') {
		text += make_cell(text, utf8, &cell);
		used = append(buffer, used, cell.text);
	}
	return whole.columns;
}

void bp_write_visible(FILE *out, const char *text, const char *special,
	void (*put_special)(FILE *out, char special))
{
	while (*text != '\0') {
		struct cell cell;
		if (strchr(special, *text) != NULL) {
			put_special(out, *text++);
			continue;
		}
		text += make_cell(text, true, &cell);
		fputs(cell.text, out);
	}
}

void bp_write_json_text(FILE *out, const char *text)
{
	while (*text != '\0') {
		unsigned bytes;
		uint32_t code = bp_utf8_next(text, &bytes);
		if (code == INVALID)
			fputs("\\ufffd", out);
		else if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (char)code);
		else if (code < 0x10000 && bp_is_unsafe(code))
			fprintf(out, "\\u%04x", code);
		else if (bp_is_unsafe(code))
			fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
				0xdc00 + ((code - 0x10000) & 0x3ff));
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
}

void bp_write_json_string(FILE *out, const char *text)
{
	putc('"', out);
	bp_write_json_text(out, text);
	putc('"', out);
}

void bp_write_csv_string(FILE *out, const char *text)
{
	putc('"', out);
	/* What a spreadsheet would take for a formula. */
	if (*text != '\0' && strchr("=+-@\t\r\n", *text) != NULL)
		putc('\'', out);
	while (*text != '\0') {
		unsigned bytes;
		uint32_t code = bp_utf8_next(text, &bytes);
		if (code == INVALID)
			fputs("\xef\xbf\xbd", out);
		else if (code == '"')
			fputs("\"\"", out);
		else if (bp_is_unsafe(code) && code != '\t' && code != '\r' && code != '\n')
			fprintf(out, code < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)code);
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
	putc('"', out);
}
