/* SPDX-License-Identifier: MIT */
/*
 * Control characters have no place in a name: one that holds them was made up.
 */
#include "symbols/demangle/character.h"

#include "base/utf8.h"

size_t bp_character_write(uint32_t code, char *output)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return 0;
	return bp_utf8_write(code, output);
}
