/* SPDX-License-Identifier: MIT */
/*
 * Characters that demanglers put together from numbers.
 */
#ifndef BP_SYMBOLS_DEMANGLE_CHARACTER_H
#define BP_SYMBOLS_DEMANGLE_CHARACTER_H

#include <stddef.h>
#include <stdint.h>

/* Writes one character as UTF-8, at most 4 bytes; returns how many, 0 for what is no character (a
 * surrogate, beyond U+10FFFF) or a control character. */
size_t bp_character_write(uint32_t code, char *output);

#endif
