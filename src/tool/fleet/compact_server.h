/* SPDX-License-Identifier: MIT */
/*
 * Older runs of a ClickHouse database as sums (compact.h says what a sum keeps). In place of a
 * folder there is an attempt to push (`push`, sql/clickhouse.sql): a sum is one that has all rows
 * of several others, with an id that is smaller than theirs. The row of its last process makes it
 * whole, and from then on it counts and they do not. What does not count any more is marked first,
 * so that a question that is being answered notices, and then removed. Killed anywhere, each run is
 * counted once, and the next command goes on.
 *
 * One command at a time works on a database: it holds table `compacting`.
 *
 * Called by cli/fleet. One thread.
 */
#ifndef BP_FLEET_COMPACT_SERVER_H
#define BP_FLEET_COMPACT_SERVER_H

#include "fleet/compact.h"

/* Makes table `compacting`; one that a command of this host left, which has ended, is taken over.
 * Errors: another command works on the database; the server's. */
bool bp_compact_server_begin(const struct bp_store *store, struct bp_error *error);
void bp_compact_server_end(const struct bp_store *store);

/* The attempts to push that count, as `folders` of the store, which has none before, and the age of
 * each, which the caller frees. Errors: the server's; memory; a process that is there twice. */
bool bp_compact_server_list(
	struct bp_store *store, struct bp_folder_age **ret_ages, struct bp_error *error);

/* Is it a sum, by its id? Pure. */
bool bp_compact_server_is_sum(const char *push);
/* Is it a run as it was while it went on, by its id? Pure. */
bool bp_compact_server_is_version(const char *push);

/* Writes what stands behind SELECT run FROM to have the sums of the temporary table `every`. */
void bp_compact_server_write_sums(FILE *script);

/* Writes a sum of the attempts that `picked` has as folders; they are void then. It counts only if
 * it has as many processes, threads and samples as they have. Errors: the server's. */
bool bp_compact_server_sum(
	const struct bp_store *store, const struct bp_store *picked, struct bp_error *error);
/* Marks the attempts that `picked` has as folders, and all others of their runs, which would count
 * in their place: they count no more. Errors: the server's. */
bool bp_compact_server_leave(
	const struct bp_store *store, const struct bp_store *picked, struct bp_error *error);
/* Removes what is marked, what a sum stands for, and sums that were cut short. Errors: the
 * server's. */
bool bp_compact_server_sweep(const struct bp_store *store, struct bp_error *error);

#endif
