/* SPDX-License-Identifier: MIT */
/* See buffer.h. */
#include "parquet/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

uint8_t *bp_parquet_buffer_room(struct bp_parquet_buffer *buffer, size_t more)
{
	if (buffer->failed)
		return NULL;
	if (more > buffer->capacity - buffer->bytes) {
		const size_t capacity = buffer->capacity * 2 + more + 64;
		uint8_t *grown = realloc(buffer->data, capacity);
		if (grown == NULL) {
			buffer->failed = true;
			return NULL;
		}
		buffer->data = grown;
		buffer->capacity = capacity;
	}
	return buffer->data + buffer->bytes;
}

void bp_parquet_buffer_put(struct bp_parquet_buffer *buffer, const void *data, size_t bytes)
{
	uint8_t *room = bp_parquet_buffer_room(buffer, bytes);
	if (room == NULL || bytes == 0)
		return;
	memcpy(room, data, bytes);
	buffer->bytes += bytes;
}

void bp_parquet_buffer_varint(struct bp_parquet_buffer *buffer, uint64_t value)
{
	uint8_t code[BP_VARINT_MAX_BYTES];
	bp_parquet_buffer_put(buffer, code, (size_t)(bp_varint_put(code, value) - code));
}

void bp_parquet_buffer_u32(struct bp_parquet_buffer *buffer, uint32_t value)
{
	bp_parquet_buffer_put(buffer, &value, sizeof value);
}

void bp_parquet_buffer_u64(struct bp_parquet_buffer *buffer, uint64_t value)
{
	bp_parquet_buffer_put(buffer, &value, sizeof value);
}

void bp_parquet_buffer_finish(struct bp_parquet_buffer *buffer)
{
	free(buffer->data);
	memset(buffer, 0, sizeof *buffer);
}
