/* SPDX-License-Identifier: MIT */
/* See valid_text.h. */
#include "fleet/valid_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

#define ESCAPED_BYTES 4 /* \xff */

static bool is_valid(const char *text)
{
	unsigned bytes;
	for (; *text != '\0'; text += bytes)
		if (bp_utf8_next(text, &bytes) == UINT32_MAX)
			return false;
	return true;
}

const char *bp_valid_text(struct bp_valid_text *buffer, const char *text)
{
	if (is_valid(text))
		return text;
	const size_t most = strlen(text) * ESCAPED_BYTES + 1;
	if (most > buffer->capacity) {
		char *grown = realloc(buffer->text, most);
		if (grown == NULL)
			return NULL;
		buffer->text = grown;
		buffer->capacity = most;
	}
	char *to = buffer->text;
	unsigned bytes;
	for (; *text != '\0'; text += bytes) {
		if (bp_utf8_next(text, &bytes) == UINT32_MAX) {
			to += sprintf(to, "\\x%02x", (unsigned char)*text);
		} else {
			memcpy(to, text, bytes);
			to += bytes;
		}
	}
	*to = '\0';
	return buffer->text;
}

void bp_valid_text_finish(struct bp_valid_text *buffer)
{
	free(buffer->text);
	memset(buffer, 0, sizeof *buffer);
}
