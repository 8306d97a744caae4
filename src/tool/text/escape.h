/* SPDX-License-Identifier: MIT */
/*
 * Names made safe. A name is any bytes up to a NUL: a terminal must not be steered by it (control
 * characters, escape sequences, characters that reverse the direction of writing or cannot be
 * seen), JSON must stay valid UTF-8, CSV must keep its columns. Pure functions, called by reports.
 */
#ifndef BP_TEXT_ESCAPE_H
#define BP_TEXT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One character of UTF-8 at `text` (not at its NUL): its code point, and in `*ret_bytes` its
 * length. Invalid bytes give UINT32_MAX and length 1. */
uint32_t bp_utf8_next(const char *text, unsigned *ret_bytes);

/* Must this character not reach a terminal as it is? Controls, and all that is invisible or changes
 * the direction of writing. */
bool bp_is_unsafe(uint32_t code_point);

/* Writes `text` for a terminal, terminated, into `buffer`: unsafe characters as \u{202e}, invalid
 * bytes as \xff, and with `utf8` false everything beyond ASCII so. Longer than `columns`, or than
 * the buffer (which has room for the mark, 4 bytes), it is cut in the middle, and a mark stands
 * there. Returns the columns it takes. Names of functions: name_text.h. */
unsigned bp_terminal_text(
	const char *text, bool utf8, unsigned columns, char *buffer, size_t buffer_bytes);

/* The columns that bp_terminal_text takes for `text` when nothing is cut. */
unsigned bp_terminal_columns(const char *text, bool utf8);

/* Writes all of `text`, unsafe characters and invalid bytes as bp_terminal_text does, and ASCII
 * characters that stand in `special` by `put_special`: for files that are text with a syntax of its
 * own. */
void bp_write_visible(FILE *out, const char *text, const char *special,
	void (*put_special)(FILE *out, char special));

/* Writes `text` as a JSON string with its quotes, or without them; invalid bytes become U+FFFD. For
 * the writer of JSON alone (json_writer.h). */
void bp_write_json_string(FILE *out, const char *text);
void bp_write_json_text(FILE *out, const char *text);

/* Writes `text` as a CSV field (RFC 4180), always quoted; invalid bytes become U+FFFD, and what
 * must not reach a terminal, but for tabs and ends of lines, \x1b and \u{202e}: a pipe often ends
 * at one. A name that begins with = + - @, a tab or the end of a line gets an apostrophe before it,
 * so that no spreadsheet runs it as a formula (OWASP, "CSV Injection"). */
void bp_write_csv_string(FILE *out, const char *text);

#endif
