/* SPDX-License-Identifier: MIT */
/*
 * A store: folders of tables (tables.h), found in one folder or several, at any depth. Names that
 * begin with a dot, and symbolic links, are passed by. One thread.
 */
#ifndef BP_FLEET_STORE_H
#define BP_FLEET_STORE_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "fleet/tables.h"

/* Zeroed memory is empty. */
struct bp_store {
	char **folders; /* that hold tables, sorted */
	uint32_t count, capacity;
};

/* Adds the folders of tables in `path`, or `path` itself. Errors: it cannot be read, or there are
 * none; a name that cannot stand in a question. */
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

/* Writes `read_parquet([...])` of one table of all folders. */
void bp_store_write_table(const struct bp_store *store, enum bp_table_number table, FILE *script);

#endif
