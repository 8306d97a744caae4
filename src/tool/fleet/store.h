/* SPDX-License-Identifier: MIT */
/*
 * A store: folders of tables (tables.h), found in one folder or several, at any depth, or the
 * tables of one database of a ClickHouse server. Names of folders that begin with a dot, and
 * symbolic links, are passed by. One thread.
 */
#ifndef BP_FLEET_STORE_H
#define BP_FLEET_STORE_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "clickhouse/clickhouse.h"
#include "fleet/tables.h"

/* Zeroed memory is empty. */
struct bp_store {
	char **folders; /* that hold tables, sorted */
	uint32_t count, capacity;
	struct bp_clickhouse *server; /* in place of folders; NULL: DuckDB reads the folders */
};

/* Adds the folders of tables in `path`, or `path` itself, or the database of which it is the
 * address. Errors: it cannot be read, or there are none; a name that cannot stand in a question; a
 * database beside something else. */
bool bp_store_add(struct bp_store *store, const char *path, struct bp_error *error);
/* Adds one folder that has tables; the store is not sorted then, until bp_store_sort. Errors: the
 * same of its name; memory. */
bool bp_store_append(struct bp_store *store, const char *path, struct bp_error *error);
void bp_store_sort(struct bp_store *store);
/* Is the folder one of a sorted store's? */
bool bp_store_has(const struct bp_store *store, const char *path);
void bp_store_finish(struct bp_store *store);

/* Has every folder this table, one that came with the readings? Errors: one has not. */
bool bp_store_has_table(
	const struct bp_store *store, enum bp_table_number table, struct bp_error *error);

/* Writes an expression of SQL whose rows are those of one table of the store. Of a database the
 * processes come with a column `push`, and the tables of the server are read for the processes of
 * the temporary tables `every` and `runs` alone (fleet_script.c). */
void bp_store_write_table(const struct bp_store *store, enum bp_table_number table, FILE *script);

#endif
