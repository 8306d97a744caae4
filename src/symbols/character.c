/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 (RFC 3629). Control characters have no place in a name: one that holds them was made up.
 */
#include "symbols/character.h"

size_t bp_character_write(uint32_t code, char *output)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xD800 && code < 0xE000) ||
		code > 0x10FFFF)
		return 0;
	if (code < 0x80) {
		output[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		output[0] = (char)(0xC0 | code >> 6);
		output[1] = (char)(0x80 | (code & 0x3F));
		return 2;
	}
	if (code < 0x10000) {
		output[0] = (char)(0xE0 | code >> 12);
		output[1] = (char)(0x80 | (code >> 6 & 0x3F));
		output[2] = (char)(0x80 | (code & 0x3F));
		return 3;
	}
	output[0] = (char)(0xF0 | code >> 18);
	output[1] = (char)(0x80 | (code >> 12 & 0x3F));
	output[2] = (char)(0x80 | (code >> 6 & 0x3F));
	output[3] = (char)(0x80 | (code & 0x3F));
	return 4;
}
