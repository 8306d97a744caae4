/* SPDX-License-Identifier: MIT */
/* See clean_text.h. What is written is at most ten times as long as what is read: \u{10ffff} of
 * four bytes, \u{9b} of two, \xff of one. */
#include "export/clean_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

#define INVALID UINT32_MAX
#define CHARACTER_BYTES 12 /* the longest escape and its terminator */

const char *bp_clean_text(
	struct bp_clean_text *buffer, const char *text, const char *replaced, char by)
{
	buffer->bytes = 0;
	for (;;) {
		if (buffer->capacity - buffer->bytes < CHARACTER_BYTES) {
			size_t capacity = buffer->capacity * 2 + 256;
			char *grown = realloc(buffer->text, capacity);
			if (grown == NULL)
				return NULL;
			buffer->text = grown;
			buffer->capacity = capacity;
		}
		char *to = buffer->text + buffer->bytes;
		unsigned bytes, written;
		if (*text == '\0') {
			*to = '\0';
			return buffer->text;
		}
		uint32_t code = bp_utf8_next(text, &bytes);
		if (code == INVALID) {
			written = (unsigned)snprintf(
				to, CHARACTER_BYTES, "\\x%02x", (unsigned char)*text);
		} else if (code < 0x80 && strchr(replaced, (int)code) != NULL) {
			*to = by;
			written = 1;
		} else if (bp_is_unsafe(code)) {
			written = (unsigned)snprintf(to, CHARACTER_BYTES,
				code < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)code);
		} else {
			memcpy(to, text, bytes);
			written = bytes;
		}
		buffer->bytes += written;
		text += bytes;
	}
}

void bp_clean_text_finish(struct bp_clean_text *buffer)
{
	free(buffer->text);
	*buffer = (struct bp_clean_text){ 0 };
}
