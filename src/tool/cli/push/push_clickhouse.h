/* SPDX-License-Identifier: MIT */
/*
 * Runs into the tables of a ClickHouse server (fleet/sql/clickhouse.sql). A request that fails for
 * a reason that may pass is followed by a new attempt of the whole run, up to BP_PUSH_ATTEMPTS of
 * them, after pauses that double from 0.2 s on. Called by push.c. One thread.
 */
#ifndef BP_CLI_PUSH_PUSH_CLICKHOUSE_H
#define BP_CLI_PUSH_PUSH_CLICKHOUSE_H

#include <signal.h>

#include "clickhouse/clickhouse.h"
#include "fleet/tables_write.h"

#define BP_PUSH_ATTEMPTS 6

/* Is the run there whole, as it was when it had ended? `id`: hexadecimal digits. */
bool bp_push_clickhouse_has(
	struct bp_clickhouse *server, const char *id, bool *ret_there, struct bp_error *error);

/* The newest version of a run that goes on, as seconds since 1970; 0: there is none. */
bool bp_push_clickhouse_newest(
	struct bp_clickhouse *server, const char *id, uint64_t *ret_unix_s, struct bp_error *error);

/* Puts a run there, or, where `version_s` is not 0, what it is at that moment. `*ret_new` is true
 * where it succeeds. `stopped` ends the attempts when it is not 0. */
bool bp_push_clickhouse_put(struct bp_clickhouse *server, const volatile sig_atomic_t *stopped,
	const struct bp_profile *profile, const struct bp_tags *tags, const char *id,
	uint64_t version_s, bool *ret_new, struct bp_error *error);

#endif
