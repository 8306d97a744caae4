/* SPDX-License-Identifier: MIT */
/*
 * Runs of a store in a bucket, for DuckDB, which reads files: what is new there is fetched into
 * ~/.cache/bytepoll/fleet (cli/files/cache_folder.h), and stays there for the next question. One
 * thread.
 */
#ifndef BP_CLI_FLEET_FLEET_BUCKET_H
#define BP_CLI_FLEET_FLEET_BUCKET_H

#include "bucket/bucket.h"
#include "fleet/fleet.h"

/* What is kept of one store, at most. */
#define BP_FLEET_KEPT_BYTES (UINT64_C(16) << 30)

/* Adds every whole run of the bucket to the store. Objects whose names are not PATH/TABLE.parquet,
 * and runs without a table of processes, are passed by. Errors: those of the bucket; no run; more
 * than is kept; the cache cannot be written. */
bool bp_fleet_bucket_add(struct bp_bucket *bucket, struct bp_store *store, struct bp_error *error);

#endif
