/* SPDX-License-Identifier: MIT */
/*
 * Tables as files of Apache Parquet (https://parquet.apache.org/docs/file-format/): a flat schema
 * of numbers of 64 bits, flags and texts in UTF-8; row groups of BP_PARQUET_GROUP_ROWS rows; plain
 * and dictionary pages of version 1, packed (packing.h). Equal rows make equal bytes. Nothing is
 * read here: what reads such files are the programs that people have.
 *
 * Called by fleet/. One thread for one file.
 */
#ifndef BP_PARQUET_PARQUET_FILE_H
#define BP_PARQUET_PARQUET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define BP_PARQUET_GROUP_ROWS 131072u /* held in memory: at most some 10 bytes a value */

enum bp_parquet_type { BP_PARQUET_NUMBER, BP_PARQUET_FLAG, BP_PARQUET_TEXT };

struct bp_parquet_column {
	const char *name;
	enum bp_parquet_type type;
	bool optional; /* a value may be missing */
};

struct bp_parquet_value {
	bool null;	  /* only in optional columns */
	int64_t number;	  /* or a flag, 0 or 1 */
	const char *text; /* valid UTF-8; read by bp_parquet_row, not kept */
};

struct bp_parquet; /* private */

/* Begins a file of these columns, which must stay. `note` is kept in the file under the key
 * "bytepoll". `out` is the caller's, who also finds its errors (ferror). Errors: memory. */
bool bp_parquet_begin(FILE *out, const struct bp_parquet_column *columns, uint32_t count,
	const char *note, struct bp_parquet **ret_file, struct bp_error *error);

/* Appends a row: a value for each column. Errors: memory. */
bool bp_parquet_row(
	struct bp_parquet *file, const struct bp_parquet_value *values, struct bp_error *error);

/* Writes what is left and the footer if `good`, and releases the file in any case. Returns whether
 * all is well. */
bool bp_parquet_end(struct bp_parquet *file, bool good, struct bp_error *error);

#endif
