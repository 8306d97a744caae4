/* SPDX-License-Identifier: MIT */
/* Names are bytes of any kind, a column of text is UTF-8: bytes that are none become \xff. Valid
 * texts stay as they are, control characters included. Belongs to its caller. */
#ifndef BP_FLEET_VALID_TEXT_H
#define BP_FLEET_VALID_TEXT_H

#include <stddef.h>

/* Zeroed memory is empty. */
struct bp_valid_text {
	char *text;
	size_t capacity;
};

/* `text` itself, or a copy that is valid as long as nothing else is asked of `buffer`. NULL: no
 * memory. */
const char *bp_valid_text(struct bp_valid_text *buffer, const char *text);
void bp_valid_text_finish(struct bp_valid_text *buffer);

#endif
