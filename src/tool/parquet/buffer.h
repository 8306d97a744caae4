/* SPDX-License-Identifier: MIT */
/*
 * A growing run of bytes, and the integers that Parquet writes into it. Without memory it remembers
 * that, and whoever writes it out asks once. Zeroed memory is empty. Belongs to its caller.
 */
#ifndef BP_PARQUET_BUFFER_H
#define BP_PARQUET_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_parquet_buffer {
	uint8_t *data;
	size_t bytes, capacity;
	bool failed; /* no memory: what was put is not all there */
};

/* Makes room for `more` bytes behind those that are there; NULL: no memory. */
uint8_t *bp_parquet_buffer_room(struct bp_parquet_buffer *buffer, size_t more);
void bp_parquet_buffer_put(struct bp_parquet_buffer *buffer, const void *data, size_t bytes);
/* An unsigned LEB128 number, and one of 32 or 64 bits, little endian. */
void bp_parquet_buffer_varint(struct bp_parquet_buffer *buffer, uint64_t value);
void bp_parquet_buffer_u32(struct bp_parquet_buffer *buffer, uint32_t value);
void bp_parquet_buffer_u64(struct bp_parquet_buffer *buffer, uint64_t value);
void bp_parquet_buffer_finish(struct bp_parquet_buffer *buffer);

#endif
