/* SPDX-License-Identifier: MIT */
/*
 * A profile into the files of its tables (tables.h), in a folder that is there and empty. The
 * profile is finished, has its names, and was read with `keep_readings`, for tables `counters`
 * and `readings`.
 * Equal profiles make equal bytes. Errors: memory, and what cannot be written. One thread.
 */
#ifndef BP_FLEET_TABLES_WRITE_H
#define BP_FLEET_TABLES_WRITE_H

#include "base/error.h"
#include "fleet/process_fields.h"
#include "fleet/tables.h"
#include "fleet/valid_text.h"
#include "query/view.h"

bool bp_tables_write(const struct bp_profile *profile, const struct bp_tags *tags, int folder,
	struct bp_error *error);
/* The same into a temporary file without a name for each table, which the caller closes. On failure
 * there is nothing to close. */
bool bp_tables_write_unnamed(const struct bp_profile *profile, const struct bp_tags *tags,
	FILE *ret_files[BP_TABLE_COUNT], struct bp_error *error);

/* ---- for the tables ---- */

/* A table that is being written, a row at a time. */
struct bp_table_writer {
	const struct bp_profile *profile;
	const struct bp_view *view;
	const struct bp_table *table;
	struct bp_parquet *file;
	FILE *out;
	char (*process_ids)[BP_PROCESS_ID_BYTES]; /* by process */
	struct bp_parquet_value values[BP_PROCESS_FIELDS_MAX];
	struct bp_valid_text texts[BP_PROCESS_FIELDS_MAX]; /* by column */
};

/* Write the row of `values`; texts need not be valid UTF-8. */
bool bp_table_writer_row(struct bp_table_writer *writer, struct bp_error *error);

/* Sets a column. A text that is empty is none where the column is optional. */
static inline void bp_set_number(struct bp_table_writer *writer, uint32_t column, int64_t number)
{
	writer->values[column] = (struct bp_parquet_value){ .number = number };
}
static inline void bp_set_open(struct bp_table_writer *writer, uint32_t column, uint64_t number)
{
	writer->values[column] =
		(struct bp_parquet_value){ .null = number > INT64_MAX, .number = (int64_t)number };
}
static inline void bp_set_text(struct bp_table_writer *writer, uint32_t column, const char *text)
{
	writer->values[column] = (struct bp_parquet_value){
		.null = *text == '\0' && writer->table->columns[column].optional, .text = text
	};
}

/* counters_write.c: what was allocated by each process until each of a row of moments. */
bool bp_counters_write(struct bp_table_writer *writer, struct bp_error *error);
/* readings_write.c: what the counters of each thread said, and when. */
bool bp_readings_write(struct bp_table_writer *writer, struct bp_error *error);

#endif
