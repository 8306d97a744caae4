/* SPDX-License-Identifier: MIT */
/*
 * The values of one column in one row group: each distinct value once, and for each row its number.
 * Called by parquet_file.c and page.c. Zeroed memory is empty. Belongs to its caller.
 */
#ifndef BP_PARQUET_COLUMN_H
#define BP_PARQUET_COLUMN_H

#include "base/index.h"
#include "parquet/buffer.h"
#include "parquet/parquet_file.h"

/* A distinct value: a number is its own key, the key of a text is its hash. */
struct bp_parquet_distinct {
	uint64_t key;
	size_t at, bytes; /* of a text, in `texts` */
};

struct bp_parquet_values {
	struct bp_parquet_distinct *distinct;
	uint32_t distinct_count, distinct_capacity;
	struct bp_index index; /* of the keys */
	struct bp_parquet_buffer texts;
	uint32_t *codes; /* by row that has a value: the number of the value */
	uint32_t code_count, code_capacity;
	uint32_t *present; /* by row: 1, or 0 where there is no value */
	uint32_t rows, row_capacity;
};

/* Appends a row. False: no memory. */
bool bp_parquet_values_add(struct bp_parquet_values *values, const struct bp_parquet_column *column,
	const struct bp_parquet_value *value);
/* Forgets all rows, and keeps the memory. */
void bp_parquet_values_clear(struct bp_parquet_values *values);
void bp_parquet_values_finish(struct bp_parquet_values *values);

/* A written column chunk, for the footer. Offsets and sizes in bytes. */
struct bp_parquet_chunk {
	uint64_t dictionary_at, data_at; /* in the file; no dictionary: 0 */
	uint64_t unpacked_bytes, packed_bytes;
	uint64_t rows, nulls;
	bool has_range; /* of a column of numbers: its least and largest value */
	int64_t least, largest;
};

/* Appends the pages of a column, the first of which comes to stand `at` bytes into the file
 * (page.c). False: no memory. */
bool bp_parquet_pages(struct bp_parquet_buffer *out, uint64_t at,
	const struct bp_parquet_values *values, const struct bp_parquet_column *column,
	struct bp_parquet_chunk *ret_chunk);

#endif
