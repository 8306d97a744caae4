/* SPDX-License-Identifier: MIT */
/*
 * DuckDB's command-line program, asked by a script of SQL: it is found on PATH, reads nobody's
 * settings, and answers with rows of numbers and hexadecimal texts, so that nothing in a name can
 * be taken for the end of one. One question at a time; one thread.
 */
#ifndef BP_FLEET_DUCKDB_H
#define BP_FLEET_DUCKDB_H

#include <stdio.h>

#include "base/error.h"
#include "parquet/parquet_file.h"

#define BP_DUCKDB_FIELDS_MAX 128u

/* A row of an answer: fields as they came, `fields[0]` says what the row is of. */
struct bp_duckdb_row {
	char *fields[BP_DUCKDB_FIELDS_MAX];
	uint32_t count;
};

/* The fields of a line, which is changed in place. Rows of ClickHouse are of the same form, but
 * for the separator (engine.h). */
void bp_duckdb_split(char *line, const char *separator, struct bp_duckdb_row *ret_row);

/* Field `number`, which is a number, or is empty: `null`. Errors: there is no such field, or it is
 * no number. */
bool bp_duckdb_number(const struct bp_duckdb_row *row, uint32_t number,
	struct bp_parquet_value *ret_value, struct bp_error *error);
/* Field `number`, a hexadecimal text, as text; it is changed in place. */
bool bp_duckdb_text(struct bp_duckdb_row *row, uint32_t number, struct bp_parquet_value *ret_value,
	struct bp_error *error);

/* Opens a script that is written next. Errors: memory. */
bool bp_duckdb_script(FILE **ret_script, struct bp_error *error);
/* Writes `text` as an expression of SQL: its bytes are hexadecimal digits there. */
void bp_duckdb_write_text(FILE *script, const char *text);

/* Runs the script and closes it; `take` gets every row. Errors: there is no duckdb, what it says
 * itself, what `take` sets. */
bool bp_duckdb_run(FILE *script,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error);

#endif
