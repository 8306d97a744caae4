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

/* ---- sums (compact.h) ---- */

/* Files of a folder that is a sum of others: the runs in it, by their ids, and the folders beside
 * it that it stands for, by their names, until these are removed; a line each. One rename of the
 * sum under its name makes it valid and them void. */
#define BP_SUM_RUNS "sum.runs"
#define BP_SUM_REPLACES "sum.replaces"

/* Is it a folder of sums? */
bool bp_store_is_sum(const char *folder);
/* The folders of the store that are sums, in `ret_sums`, which borrows their names: only the list
 * itself is to be freed. Errors: memory. */
bool bp_store_sums(const struct bp_store *store, struct bp_store *ret_sums, struct bp_error *error);
/* Calls `take` with the path of every folder that the sum stands for and that may still be there,
 * until it returns false. Errors: the list cannot be read; what `take` sets. */
bool bp_store_replaced(const char *sum,
	bool (*take)(void *context, const char *folder, struct bp_error *error), void *context,
	struct bp_error *error);
/* Takes folders that a sum stands for out of the list, and versions of runs that it has. Errors:
 * those of bp_store_replaced. */
bool bp_store_leave_replaced(struct bp_store *store, struct bp_error *error);
/* Does a sum directly in the folder `path` hold the run? */
bool bp_store_sum_has_run(const char *path, const char *run);

/* ---- runs that go on ----
 * As it was at a moment such a run is a folder ID.SECONDS, ten digits since 1970. The newest of a
 * run counts, until its folder ID is there, or a sum that has it; the others are void. */

/* An id of a run as 32 hexadecimal digits. */
#define BP_STORE_RUN_BYTES 33u

/* Is `folder`, by its name, such a version? Pure. */
bool bp_store_is_version(
	const char *folder, char ret_run[BP_STORE_RUN_BYTES], uint64_t *ret_unix_s);
/* Writes the name of such a version, or of the run that has ended, if `unix_s` is 0. */
#define BP_STORE_VERSION_BYTES (BP_STORE_RUN_BYTES + 24u)
void bp_store_version_name(const char *run, uint64_t unix_s, char ret_name[BP_STORE_VERSION_BYTES]);
/* Takes out of a sorted store what is void by the names of other folders in it. Errors: memory. */
bool bp_store_leave_void(struct bp_store *store, struct bp_error *error);

/* Writes an expression of SQL whose rows are those of one table of the store. Of a database the
 * processes come with a column `push`, and the tables of the server are read for the processes of
 * the temporary tables `every` and `runs` alone (fleet_script.c). */
void bp_store_write_table(const struct bp_store *store, enum bp_table_number table, FILE *script);

#endif
