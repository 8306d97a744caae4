/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the environment: one reader for the recorder and for hosts. Freestanding; pure.
 */
#ifndef BP_BASE_NUMBER_H
#define BP_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the unit `text` stands for: 1024 for K or KiB, 1000 for kB, and so on for M and G,
 * in letters of any case, as the command line reads them; 0: `text` is no unit. */
static inline uint64_t bp_number_unit(const char *text)
{
	const char letter = (char)(text[0] & ~32);
	const unsigned power = letter == 'K' ? 1 : letter == 'M' ? 2 : letter == 'G' ? 3 : 0;
	const bool binary = text[1] == '\0' || (text[1] & ~32) == 'I';
	if (power == 0)
		return 0;
	const char *rest = text + 1;
	rest += (*rest & ~32) == 'I';
	rest += (*rest & ~32) == 'B';
	if (*rest != '\0')
		return 0;
	uint64_t bytes = 1;
	for (unsigned i = 0; i < power; i++)
		bytes *= binary ? 1024 : 1000;
	return bytes;
}

/* Reads a decimal number, which may have a unit; false if `text` is NULL or anything else, or the
 * number has more than 64 bits. */
static inline bool bp_number_read(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0, unit = 1;
	if (text == NULL || *text == '\0')
		return false;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (at == text || (*at != '\0' && (unit = bp_number_unit(at)) == 0) ||
		__builtin_mul_overflow(value, unit, &value))
		return false;
	*ret_value = value;
	return true;
}

#endif
