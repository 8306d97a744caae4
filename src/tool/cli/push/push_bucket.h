/* SPDX-License-Identifier: MIT */
/*
 * A store in a bucket, into which `bytepoll push` puts runs: PREFIX/ID/TABLE.parquet, the table of
 * processes last, by which readers know that a run is whole. One thread.
 */
#ifndef BP_CLI_PUSH_PUSH_BUCKET_H
#define BP_CLI_PUSH_PUSH_BUCKET_H

#include <limits.h>

#include "bucket/bucket.h"
#include "fleet/content_id.h"
#include "fleet/tables_write.h"

/* Runs that were seen in the store, so that --watch does not ask the server again: a run goes into
 * one place by its id, and whatever was there is asked about again. */
#define BP_PUSH_KNOWN 16384u

struct bp_push_bucket {
	struct bp_bucket bucket;
	char spool
		[PATH_MAX]; /* the folder in which the tables of one run are, while they are put */
	char (*known)[BP_PROCESS_ID_BYTES]; /* BP_PUSH_KNOWN of them; empty: none */
};

/* After bucket.bucket was opened. Errors: memory, and a spool that cannot be made. What was left in
 * the spool by pushers that were killed is removed. bp_push_bucket_finish is safe afterwards. */
bool bp_push_bucket_begin(struct bp_push_bucket *push, struct bp_error *error);
void bp_push_bucket_finish(struct bp_push_bucket *push);

/* Is the run there, whole? */
bool bp_push_bucket_has(
	struct bp_push_bucket *push, const char *id, bool *ret_there, struct bp_error *error);

/* The newest version of a run that goes on, as seconds since 1970; 0: there is none. */
bool bp_push_bucket_newest(
	struct bp_push_bucket *push, const char *id, uint64_t *ret_unix_s, struct bp_error *error);

/* Removes the versions of a run that are older than `before_s`. Errors: the bucket's, among them
 * that the key may not remove anything. */
bool bp_push_bucket_remove_versions(
	struct bp_push_bucket *push, const char *id, uint64_t before_s, struct bp_error *error);

/* Puts the tables of a run, or, where `version_s` is not 0, of what it is at that moment;
 * `*ret_new` is false where somebody else was faster. Errors: the bucket's; another push of this
 * run goes on or was cut short not long ago, and its tables differ from ours. */
bool bp_push_bucket_put(struct bp_push_bucket *push, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, uint64_t version_s, bool *ret_new,
	struct bp_error *error);

#endif
