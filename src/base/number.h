/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the environment: one reader for the recorder and for hosts. Freestanding; pure.
 */
#ifndef BP_BASE_NUMBER_H
#define BP_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* The power of two that a unit of sizes stands for, as K, kb or KiB; 0: `text` is no unit. All
 * units are binary, as those of the command line are. */
static inline unsigned bp_number_unit(const char *text)
{
	const char letter = (char)(text[0] & ~32);
	const unsigned shift = letter == 'K' ? 10 : letter == 'M' ? 20 : letter == 'G' ? 30 : 0;
	if (shift == 0)
		return 0;
	text += 1;
	text += text[0] == 'i' && (text[1] & ~32) == 'B';
	text += (text[0] & ~32) == 'B';
	return *text == '\0' ? shift : 0;
}

/* Reads a decimal number, which may have a unit; false if `text` is NULL or anything else, or the
 * number has more than 64 bits. */
static inline bool bp_number_read(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned shift = 0;
	if (text == NULL || *text == '\0')
		return false;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (at == text || (*at != '\0' && (shift = bp_number_unit(at)) == 0) ||
		(value << shift) >> shift != value)
		return false;
	*ret_value = value << shift;
	return true;
}

#endif
