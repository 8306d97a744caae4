/* SPDX-License-Identifier: MIT */
/* Writing UTF-8 (RFC 3629). (What reads it, strictly, is bp_utf8_next of text/escape.h.) Pure;
 * for the outside half. */
#ifndef BP_BASE_UTF8_H
#define BP_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define BP_UTF8_BYTES 4

/* Writes one character, at most BP_UTF8_BYTES; returns how many bytes, 0 for what is none: a
 * surrogate, or beyond U+10FFFF. */
static inline size_t bp_utf8_write(uint32_t code, char *to)
{
	size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const uint32_t first[] = { 0, 0xc0, 0xe0, 0xf0 };
	if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	to[0] = (char)(first[more] | code >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
	return more + 1;
}

#endif
