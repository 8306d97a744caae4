/* SPDX-License-Identifier: MIT */
/*
 * Messages in Protocol Buffers' wire format (https://protobuf.dev/programming-guides/encoding/): a
 * message is put together in memory, since its length stands before it, and is then a field of
 * another. Called by export_pprof.c and export_otlp.c; what reads the format is in src/tool/import.
 */
#ifndef BP_EXPORT_PROTOBUF_H
#define BP_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing message; zeroed is empty. */
struct bp_message {
	uint8_t *data;
	size_t bytes, capacity;
	bool failed; /* no memory: what was put is not all there */
};

void bp_message_clear(struct bp_message *message);
void bp_message_finish(struct bp_message *message);

/* A number; zero, the default of every field, is not written. Negative ones are not needed here. */
void bp_message_number(struct bp_message *message, unsigned field, uint64_t value);
/* A number of type fixed64: eight bytes, little end first. Zero is not written. */
void bp_message_fixed(struct bp_message *message, unsigned field, uint64_t value);
/* Numbers of a repeated field, packed; zeros among them are written. */
void bp_message_numbers(
	struct bp_message *message, unsigned field, const uint64_t *values, size_t count);
/* A string or another message, empty ones too. */
void bp_message_bytes(struct bp_message *message, unsigned field, const void *data, size_t bytes);
/* Bytes as they are, without a tag: fields that are written already. */
void bp_message_raw(struct bp_message *message, const void *data, size_t bytes);

#endif
