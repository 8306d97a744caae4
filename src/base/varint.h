/* SPDX-License-Identifier: MIT */
/*
 * Variable-length numbers of the trace: unsigned LEB128 and zigzag for signed deltas
 * (docs/trace-format.md, first section). The writer inside the target includes this header, so it
 * stands alone: no library call, no state, no branch on anything but the value. Reading is in
 * bytes.h, where every byte is checked against the end of the buffer.
 * Thread-safety: pure functions.
 */
#ifndef BP_BASE_VARINT_H
#define BP_BASE_VARINT_H

#include <stdint.h>

/* The most bytes one 64-bit number takes. */
#define BP_VARINT_MAX_BYTES 10

/* Writes `value` at `at` and returns the end of what was written. The caller guarantees
 * BP_VARINT_MAX_BYTES bytes of room. */
static inline uint8_t *bp_varint_put(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Bytes that bp_varint_put takes for `value`: 1 to 10. */
static inline unsigned bp_varint_bytes(uint64_t value)
{
	return (70u - (unsigned)__builtin_clzll(value | 1)) / 7u;
}

/* Folds the sign into bit 0, so that small deltas of either sign stay short. */
static inline uint64_t bp_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (value < 0 ? ~(uint64_t)0 : 0);
}

static inline int64_t bp_unzigzag(uint64_t code)
{
	return (int64_t)((code >> 1) ^ (0 - (code & 1)));
}

#endif
