/* SPDX-License-Identifier: MIT */
/*
 * A dictionary table of an OpenTelemetry profile: items of one kind (strings, functions, locations,
 * stacks and so on), each once, numbered as they are met. Item 0 is the zero value, which every
 * table must begin with. An item is known by its bytes as they will stand in the file: messages
 * refer to items of other tables by number, so that equal bytes are equal items all the way down.
 *
 * Called by export_otlp.c. One thread.
 */
#ifndef BP_EXPORT_OTLP_TABLE_H
#define BP_EXPORT_OTLP_TABLE_H

#include "export/protobuf.h"
#include "model/id_index.h"

struct bp_otlp_table {
	struct bp_otlp_item {
		size_t at;	/* in `content`, bytes */
		uint32_t bytes; /* its length */
	} * items;
	uint32_t count, capacity;
	struct bp_id_index index;
	struct bp_message content; /* all items, one after the other */
	bool failed;		   /* no memory, or too many: numbers are wrong */
};

/* `zero`: item 0. A failure is found in `failed`; bp_otlp_table_finish is safe afterwards and on
 * zeroed memory. */
void bp_otlp_table_init(struct bp_otlp_table *ret_table, const void *zero, size_t bytes);
void bp_otlp_table_finish(struct bp_otlp_table *table);

/* The number of the item with these bytes, which is added if it is not there. At most 2^31 - 1. */
uint32_t bp_otlp_table_number(struct bp_otlp_table *table, const void *data, size_t bytes);

/* Writes every item as a field of `message`, in their order. */
void bp_otlp_table_write(
	const struct bp_otlp_table *table, struct bp_message *message, unsigned field);

#endif
