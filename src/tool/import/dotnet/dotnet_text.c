/* SPDX-License-Identifier: MIT */
/* See dotnet_text.h. */
#include "import/dotnet/dotnet_text.h"

#include "base/utf8.h"

#define REPLACEMENT 0xFFFDu

/* The next character; a pair of units is one. */
static uint32_t character(struct bp_bytes *bytes)
{
	const uint32_t unit = bp_bytes_u16(bytes);
	if (unit < 0xD800 || unit > 0xDFFF)
		return unit;
	if (unit > 0xDBFF || bp_bytes_left(bytes) < 2)
		return REPLACEMENT;
	const uint32_t low = (uint32_t)bytes->at[0] | (uint32_t)bytes->at[1] << 8;
	if (low < 0xDC00 || low > 0xDFFF)
		return REPLACEMENT;
	(void)bp_bytes_u16(bytes);
	return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

size_t bp_dotnet_text(struct bp_bytes *bytes, char *to, size_t capacity)
{
	size_t all = 0, kept = 0;
	for (;;) {
		char code[BP_UTF8_BYTES];
		const uint32_t next = character(bytes);
		if (next == 0 || bytes->failed)
			break;
		const size_t length = bp_utf8_write(next, code);
		if (kept == all && kept + length < capacity) {
			__builtin_memcpy(to + kept, code, length);
			kept += length;
		}
		all += length;
	}
	if (capacity != 0)
		to[kept] = '\0';
	return all;
}
