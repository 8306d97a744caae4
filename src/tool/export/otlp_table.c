/* SPDX-License-Identifier: MIT */
/* See otlp_table.h. */
#include "export/otlp_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define HASH_START 0x07e1u /* any number will do */

static bool is_same(
	const struct bp_otlp_table *table, uint32_t number, const void *data, size_t bytes)
{
	const struct bp_otlp_item *item = &table->items[number];
	return item->bytes == bytes &&
	       (bytes == 0 || memcmp(table->content.data + item->at, data, bytes) == 0);
}

static uint32_t append(struct bp_otlp_table *table, const void *data, size_t bytes)
{
	if (bytes > UINT32_MAX || table->count >= INT32_MAX ||
		!bp_vec_reserve(&table->items, &table->capacity, table->count + 1ull,
			sizeof *table->items)) {
		table->failed = true;
		return 0;
	}
	table->items[table->count] =
		(struct bp_otlp_item){ .at = table->content.bytes, .bytes = (uint32_t)bytes };
	bp_message_raw(&table->content, data, bytes);
	table->failed = table->failed || table->content.failed;
	return table->failed ? 0 : table->count++;
}

void bp_otlp_table_init(struct bp_otlp_table *ret_table, const void *zero, size_t bytes)
{
	*ret_table = (struct bp_otlp_table){ 0 };
	append(ret_table, zero, bytes);
}

void bp_otlp_table_finish(struct bp_otlp_table *table)
{
	free(table->items);
	bp_id_index_finish(&table->index);
	bp_message_finish(&table->content);
	*table = (struct bp_otlp_table){ 0 };
}

uint32_t bp_otlp_table_number(struct bp_otlp_table *table, const void *data, size_t bytes)
{
	const uint32_t hash = bp_hash_fold(bp_hash_bytes(HASH_START, data, bytes));
	uint32_t position = hash, candidate;
	if (table->failed || is_same(table, 0, data, bytes))
		return 0;
	while ((candidate = bp_id_index_next(&table->index, hash, &position)) != 0)
		if (is_same(table, candidate, data, bytes))
			return candidate;
	if (!bp_id_index_reserve(&table->index)) {
		table->failed = true;
		return 0;
	}
	const uint32_t number = append(table, data, bytes);
	if (number != 0)
		bp_id_index_add(&table->index, hash, number);
	return number;
}

void bp_otlp_table_write(
	const struct bp_otlp_table *table, struct bp_message *message, unsigned field)
{
	for (uint32_t i = 0; i < table->count; i++)
		bp_message_bytes(message, field, table->content.data + table->items[i].at,
			table->items[i].bytes);
}
