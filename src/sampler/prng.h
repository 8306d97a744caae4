/* SPDX-License-Identifier: MIT */
/*
 * The generator behind the coin flips: xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", 2021; period 2^256 - 1), its state filled by SplitMix64 (Steele,
 * Lea and Flood 2014), which is a bijection of the seed: two seeds never give the same state.
 * Freestanding; shown to the sampler and the tests only.
 */
#ifndef BP_SAMPLER_PRNG_H
#define BP_SAMPLER_PRNG_H

#include <stdint.h>

/* Next output of SplitMix64; advances `*state`. */
static inline uint64_t bp_splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static inline void bp_random_seed(uint64_t state[4], uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		state[i] = bp_splitmix64(&seed);
}

static inline uint64_t bp_random_rotate(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* 64 independent random bits. */
static inline uint64_t bp_random_next(uint64_t s[4])
{
	const uint64_t result = bp_random_rotate(s[0] + s[3], 23) + s[0];
	const uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = bp_random_rotate(s[3], 45);
	return result;
}

#endif
