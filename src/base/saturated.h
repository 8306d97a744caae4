/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of counts that saturates: a sum that does not fit is UINT64_MAX, a difference below
 * nothing is 0. Where a count is an upper limit UINT64_MAX says that there is none. Freestanding;
 * pure.
 */
#ifndef BP_BASE_SATURATED_H
#define BP_BASE_SATURATED_H

#include <stdint.h>

static inline uint64_t bp_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t bp_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t bp_add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline void bp_grow_saturated(uint64_t *count, uint64_t more)
{
	*count = bp_add_saturated(*count, more);
}

static inline uint64_t bp_subtract_saturated(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What is left of an upper limit without a part; without a limit still none. */
static inline uint64_t bp_subtract_from_limit(uint64_t high, uint64_t part)
{
	return high == UINT64_MAX ? UINT64_MAX : bp_subtract_saturated(high, part);
}

#endif
