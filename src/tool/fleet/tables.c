/* SPDX-License-Identifier: MIT */
/* See tables.h. */
#include "fleet/tables.h"

#include "base/attributes.h"
#include "fleet/process_fields.h"

#define COLUMN(name_, type_, optional_) { #name_, BP_PARQUET_##type_, optional_ },

static const struct bp_parquet_column samples[] = { BP_SAMPLE_COLUMNS(COLUMN) };
static const struct bp_parquet_column stacks[] = { BP_STACK_COLUMNS(COLUMN) };
static const struct bp_parquet_column frames[] = { BP_FRAME_COLUMNS(COLUMN) };
static const struct bp_parquet_column threads[] = { BP_THREAD_COLUMNS(COLUMN) };
static const struct bp_parquet_column counters[] = { BP_COUNTER_COLUMNS(COLUMN) };
static const struct bp_parquet_column readings[] = { BP_READING_COLUMNS(COLUMN) };
static const struct bp_parquet_column intervals[] = { BP_INTERVAL_COLUMNS(COLUMN) };
static const struct bp_parquet_column pauses[] = { BP_PAUSE_COLUMNS(COLUMN) };
static struct bp_parquet_column processes[BP_PROCESS_FIELDS_MAX];

#define TABLE(number, name_) [BP_TABLE_##number] = { #name_, name_, BP_COUNT(name_) },
static struct bp_table tables[] = { BP_TABLES(TABLE) };

const struct bp_table *bp_table_of(enum bp_table_number number)
{
	struct bp_table *table = &tables[number];
	if (number != BP_TABLE_PROCESS)
		return table;
	table->column_count = bp_process_field_count;
	for (uint32_t i = 0; i < bp_process_field_count; i++)
		processes[i] = bp_process_column(i);
	return table;
}
