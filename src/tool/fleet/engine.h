/* SPDX-License-Identifier: MIT */
/*
 * The engine that answers for a store: DuckDB's program for folders, the server for a database of
 * ClickHouse. Both get the same script (fleet_script.c) but for what is written here. One question
 * at a time; one thread.
 */
#ifndef BP_FLEET_ENGINE_H
#define BP_FLEET_ENGINE_H

#include "fleet/duckdb.h"
#include "fleet/store.h"

/* Writes `text` as an expression of SQL: its bytes are hexadecimal digits there. */
void bp_engine_write_text(const struct bp_store *store, const char *text, FILE *script);
/* Writes a condition: one of the lines of `column` is `text`. */
void bp_engine_write_has_line(
	const struct bp_store *store, const char *column, const char *text, FILE *script);

/* Runs the script, of bp_duckdb_script, and closes it; `take` gets every row. A statement ends
 * with a semicolon at the end of its line, where nothing else ends with one. Errors: there is no
 * engine, what it says itself, what `take` sets. */
bool bp_engine_run(const struct bp_store *store, FILE *script,
	bool (*take)(void *context, struct bp_duckdb_row *row, struct bp_error *error),
	void *context, struct bp_error *error);

#endif
