/* SPDX-License-Identifier: MIT */
/*
 * Names for formats that have no escapes of their own: valid UTF-8 without characters that must not
 * reach a terminal. Of any length. Called by the exporters.
 */
#ifndef BP_EXPORT_CLEAN_TEXT_H
#define BP_EXPORT_CLEAN_TEXT_H

#include <stddef.h>

/* Room that is used again; zeroed is empty, freed by bp_clean_text_finish. */
struct bp_clean_text {
	char *text;
	size_t capacity, bytes; /* bytes: without the terminator */
};

/* `text` with invalid bytes as \xff and unsafe characters (bp_is_unsafe) as \u{202e}, and each
 * character of `replaced`, ASCII, as `by`. Valid until the next call with this buffer; NULL: no
 * memory. */
const char *bp_clean_text(
	struct bp_clean_text *buffer, const char *text, const char *replaced, char by);
void bp_clean_text_finish(struct bp_clean_text *buffer);

#endif
