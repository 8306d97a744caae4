/* SPDX-License-Identifier: MIT */
/*
 * Reading the interpreter's memory. A careful reader asks the kernel before it reads, and compares
 * the types of objects; the other one trusts what it is given.
 */
#ifndef BP_PYTHON_MEMORY_H
#define BP_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "unwind/stack_memory.h"

struct bp_python_memory {
	bool careful;
	bool failed; /* something could not be read, or was not what it had to be */
};

/* Can [from, from + bytes) be read? A page at a time for a careful reader. */
static inline bool bp_python_can_read(
	struct bp_python_memory *memory, const void *from, size_t bytes)
{
	if (bp_likely(!memory->careful) || bytes == 0)
		return true;
	uintptr_t at = (uintptr_t)from;
	const uintptr_t end = at + bytes;
	bool good = at >= 4096 && end > at;
	while (good && at < end) {
		const uintptr_t piece = end - at < 4096 ? end - at : 4096;
		good = bp_memory_readable(at, piece);
		at += piece;
	}
	memory->failed |= !good;
	return good;
}

/* Copies `bytes` bytes; zeros, and `failed`, where they cannot be read. */
static inline void bp_python_read(
	struct bp_python_memory *memory, const void *from, size_t offset, void *to, size_t bytes)
{
	from = (const char *)from + offset;
	if (bp_likely(bp_python_can_read(memory, from, bytes)))
		__builtin_memcpy(to, from, bytes);
	else
		__builtin_memset(to, 0, bytes);
}

static inline const void *bp_python_pointer(
	struct bp_python_memory *memory, const void *from, size_t offset)
{
	const void *value;
	bp_python_read(memory, from, offset, &value, sizeof value);
	return value;
}

static inline uint32_t bp_python_u32(
	struct bp_python_memory *memory, const void *from, size_t offset)
{
	uint32_t value;
	bp_python_read(memory, from, offset, &value, sizeof value);
	return value;
}

static inline uint64_t bp_python_u64(
	struct bp_python_memory *memory, const void *from, size_t offset)
{
	uint64_t value;
	bp_python_read(memory, from, offset, &value, sizeof value);
	return value;
}

static inline uint8_t bp_python_u8(struct bp_python_memory *memory, const void *from, size_t offset)
{
	uint8_t value;
	bp_python_read(memory, from, offset, &value, sizeof value);
	return value;
}

#endif
