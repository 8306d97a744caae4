/* SPDX-License-Identifier: MIT */
/*
 * Older runs of a store as one folder of sums: which folders of tables hold nothing but older runs,
 * and the tables that have the sums of several folders. A sum keeps everything but times: samples
 * of one process, thread, stack, size, T, kind, type and labels become one row with their number,
 * and the tables of readings and counters lose what was before the end. The figures of whole runs
 * depend on nothing else (fleet.h), so that they are the same before and after.
 *
 * Called by cli/fleet. DuckDB does the work. One thread.
 */
#ifndef BP_FLEET_COMPACT_H
#define BP_FLEET_COMPACT_H

#include "fleet/store.h"

/* For each folder of a store, in its order. */
struct bp_folder_age {
	uint32_t runs;
	/* INT64_MAX: of one run it is not known when it began. (Of a child that recorded nothing it
	 * never is: it ends with the others of its run.) */
	int64_t end_unix_ns; /* when the last of its processes ended or was last heard of, since 1970 */
};

/* `ret_ages` has room for every folder. Errors: those of duckdb; a process that is there twice. */
bool bp_compact_ages(
	const struct bp_store *store, struct bp_folder_age *ret_ages, struct bp_error *error);

/* Writes the tables of the folders of `store` as sums into `folder`, which is empty, and their runs
 * into BP_SUM_RUNS there; all files are on the disk when it returns. What was written is read again
 * and must have as many processes, threads and samples. Errors: those of duckdb; of writing. */
bool bp_compact_write(const struct bp_store *store, const char *folder, struct bp_error *error);

#endif
