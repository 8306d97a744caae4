/* SPDX-License-Identifier: MIT */
/*
 * The hash function of numbers: multiply and fold, twice. The constants are the multiplier of
 * docs/trace-format.md 1.5 and the golden ratio; both are odd, so every step is a bijection of 64
 * bits. No protection against chosen collisions: a table that hostile input can reach adds a seed
 * (index.h). Tables of anything but numbers have their own hash, beside what they compare.
 * Usable inside the target: no library call, no state. Thread-safety: pure.
 */
#ifndef BP_BASE_HASH_H
#define BP_BASE_HASH_H

#include <stdint.h>

/* Mixes every input bit into every output bit; a bijection. */
static inline uint64_t bp_hash_u64(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xFF51AFD7ED558CCDu;
	value ^= value >> 29;
	value *= 0x9E3779B97F4A7C15u;
	value ^= value >> 32;
	return value;
}

#endif
