/* SPDX-License-Identifier: MIT */
/* Tag (field number and wire type), then a varint, eight bytes, or a length and so many bytes. See
 * protobuf.h. */
#include "export/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

#define WIRE_VARINT 0u
#define WIRE_FIXED 1u
#define WIRE_LENGTH 2u

static uint8_t *reserve(struct bp_message *message, size_t bytes)
{
	if (message->failed)
		return NULL;
	if (message->capacity - message->bytes < bytes) {
		size_t capacity = message->capacity * 2 + bytes + 256;
		uint8_t *grown = realloc(message->data, capacity);
		if (grown == NULL) {
			message->failed = true;
			return NULL;
		}
		message->data = grown;
		message->capacity = capacity;
	}
	return message->data + message->bytes;
}

static void put(struct bp_message *message, uint64_t value)
{
	uint8_t *at = reserve(message, BP_VARINT_MAX_BYTES);
	if (at != NULL)
		message->bytes = (size_t)(bp_varint_put(at, value) - message->data);
}

void bp_message_clear(struct bp_message *message)
{
	message->bytes = 0;
}

void bp_message_finish(struct bp_message *message)
{
	free(message->data);
	*message = (struct bp_message){ 0 };
}

void bp_message_number(struct bp_message *message, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put(message, field << 3 | WIRE_VARINT);
	put(message, value);
}

void bp_message_fixed(struct bp_message *message, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put(message, field << 3 | WIRE_FIXED);
	uint8_t *at = reserve(message, sizeof value);
	if (at == NULL)
		return;
	for (unsigned i = 0; i < sizeof value; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	message->bytes += sizeof value;
}

void bp_message_numbers(
	struct bp_message *message, unsigned field, const uint64_t *values, size_t count)
{
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += bp_varint_bytes(values[i]);
	if (count == 0)
		return;
	put(message, field << 3 | WIRE_LENGTH);
	put(message, bytes);
	for (size_t i = 0; i < count; i++)
		put(message, values[i]);
}

void bp_message_raw(struct bp_message *message, const void *data, size_t bytes)
{
	uint8_t *at = reserve(message, bytes);
	if (at == NULL)
		return;
	if (bytes > 0)
		memcpy(at, data, bytes);
	message->bytes += bytes;
}

void bp_message_bytes(struct bp_message *message, unsigned field, const void *data, size_t bytes)
{
	put(message, field << 3 | WIRE_LENGTH);
	put(message, bytes);
	bp_message_raw(message, data, bytes);
}
