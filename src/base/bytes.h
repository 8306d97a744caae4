/* SPDX-License-Identifier: MIT */
/*
 * Bounded cursors over bytes: the only way the outside half touches data it did not make. A reading
 * cursor never leaves its buffer; the first read that would do so sets `failed`, and from then on
 * every read gives zero, so that a decoder reads a whole record and asks once. The writing cursor
 * keeps the same promise for test builders and tools. Numbers are little endian on disk; the loads
 * assume a little-endian machine, as the recorder does.
 * Thread-safety: a cursor belongs to its caller.
 */
#ifndef BP_BASE_BYTES_H
#define BP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian machines only");

/* A reading cursor: what is left is [at, end). */
struct bp_bytes {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct bp_bytes bp_bytes_of(const void *data, size_t bytes)
{
	const uint8_t *at = (const uint8_t *)data;
	return (struct bp_bytes){ .at = at, .end = bytes == 0 ? at : at + bytes, .failed = false };
}

static inline size_t bp_bytes_left(const struct bp_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

/* The next `count` bytes, or NULL (and `failed`) if there are fewer. */
static inline const uint8_t *bp_bytes_take(struct bp_bytes *bytes, uint64_t count)
{
	const uint8_t *taken = bytes->at;
	if (bytes->failed || count > bp_bytes_left(bytes)) {
		bytes->failed = true;
		bytes->at = bytes->end;
		return NULL;
	}
	bytes->at += count;
	return taken;
}

static inline uint8_t bp_bytes_u8(struct bp_bytes *bytes)
{
	const uint8_t *taken = bp_bytes_take(bytes, 1);
	return taken == NULL ? 0 : *taken;
}

static inline uint16_t bp_bytes_u16(struct bp_bytes *bytes)
{
	const uint8_t *taken = bp_bytes_take(bytes, 2);
	uint16_t value = 0;
	if (taken != NULL)
		__builtin_memcpy(&value, taken, sizeof value);
	return value;
}

static inline uint32_t bp_bytes_u32(struct bp_bytes *bytes)
{
	const uint8_t *taken = bp_bytes_take(bytes, 4);
	uint32_t value = 0;
	if (taken != NULL)
		__builtin_memcpy(&value, taken, sizeof value);
	return value;
}

static inline uint64_t bp_bytes_u64(struct bp_bytes *bytes)
{
	const uint8_t *taken = bp_bytes_take(bytes, 8);
	uint64_t value = 0;
	if (taken != NULL)
		__builtin_memcpy(&value, taken, sizeof value);
	return value;
}

/* An unsigned LEB128 number. More than 10 bytes, or bits beyond the 64th, fail. Most numbers of a
 * trace take one to three bytes, and a report reads a hundred million of them. */
static inline uint64_t bp_bytes_varint(struct bp_bytes *bytes)
{
	const uint8_t *at = bytes->at;
	uint64_t value = 0;
	if (__builtin_expect(at != bytes->end && *at < 0x80, 1)) {
		bytes->at = at + 1;
		return *at;
	}
	for (unsigned shift = 0; shift < 70 && at != bytes->end; shift += 7) {
		uint64_t byte = *at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			bytes->at = at;
			return value;
		}
	}
	bytes->failed = true;
	bytes->at = bytes->end;
	return 0;
}

static inline int64_t bp_bytes_zigzag(struct bp_bytes *bytes)
{
	return bp_unzigzag(bp_bytes_varint(bytes));
}

/* A writing cursor over a caller's buffer: what does not fit sets `failed` and is left out. */
struct bp_bytes_out {
	uint8_t *at, *end;
	bool failed;
};

static inline struct bp_bytes_out bp_bytes_out_of(void *data, size_t bytes)
{
	uint8_t *at = (uint8_t *)data;
	return (struct bp_bytes_out){
		.at = at, .end = bytes == 0 ? at : at + bytes, .failed = false
	};
}

static inline void bp_bytes_put(struct bp_bytes_out *out, const void *data, size_t bytes)
{
	if (out->failed || bytes > (size_t)(out->end - out->at)) {
		out->failed = true;
		return;
	}
	if (bytes != 0)
		__builtin_memcpy(out->at, data, bytes);
	out->at += bytes;
}

static inline void bp_bytes_put_u8(struct bp_bytes_out *out, uint8_t value)
{
	bp_bytes_put(out, &value, sizeof value);
}

static inline void bp_bytes_put_u16(struct bp_bytes_out *out, uint16_t value)
{
	bp_bytes_put(out, &value, sizeof value);
}

static inline void bp_bytes_put_u32(struct bp_bytes_out *out, uint32_t value)
{
	bp_bytes_put(out, &value, sizeof value);
}

static inline void bp_bytes_put_u64(struct bp_bytes_out *out, uint64_t value)
{
	bp_bytes_put(out, &value, sizeof value);
}

static inline void bp_bytes_put_varint(struct bp_bytes_out *out, uint64_t value)
{
	uint8_t code[BP_VARINT_MAX_BYTES];
	bp_bytes_put(out, code, (size_t)(bp_varint_put(code, value) - code));
}

static inline void bp_bytes_put_zigzag(struct bp_bytes_out *out, int64_t value)
{
	bp_bytes_put_varint(out, bp_zigzag(value));
}

#endif
