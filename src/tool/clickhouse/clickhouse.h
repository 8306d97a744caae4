/* SPDX-License-Identifier: MIT */
/*
 * A database of a ClickHouse server, asked through the server's HTTP interface
 * (https://clickhouse.com/docs/interfaces/http). Questions of a client share a session, in which
 * temporary tables live, until the client begins another one. User and password are those of the
 * environment, CLICKHOUSE_USER and CLICKHOUSE_PASSWORD; they are in no argument, address or
 * message.
 *
 * Called by fleet/ and cli/push. One client serves one thread.
 */
#ifndef BP_CLICKHOUSE_CLICKHOUSE_H
#define BP_CLICKHOUSE_CLICKHOUSE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct bp_clickhouse; /* private */

/* Does it begin with clickhouse:// or clickhouses://? Pure. */
bool bp_clickhouse_is_address(const char *text);

/* `text` is clickhouse://HOST[:PORT]/DATABASE, or clickhouses:// for HTTPS; ports are 8123 and
 * 8443 unless they are given. Nothing is sent yet. `stopped` ends requests when it is not 0; NULL:
 * nothing does. Errors: `text` is no such address; there is no libcurl; memory. */
bool bp_clickhouse_open(const char *text, const volatile sig_atomic_t *stopped,
	struct bp_clickhouse **ret_client, struct bp_error *error);
void bp_clickhouse_close(struct bp_clickhouse *client); /* NULL is allowed */

/* Begins another session, without temporary tables; the server forgets those of the one before a
 * minute after its last statement. */
void bp_clickhouse_begin_session(struct bp_clickhouse *client);

/* Runs one statement, `bytes` of `sql`. `take` gets every line of the answer, without its end, and
 * may change it; values are separated by tabs, and a value that is missing is empty. Only a whole
 * answer counts: false may come after some lines. Errors: the server's, the connection's, those of
 * `take`. */
bool bp_clickhouse_ask(struct bp_clickhouse *client, const char *sql, size_t bytes,
	bool (*take)(void *context, char *line, struct bp_error *error), void *context,
	struct bp_error *error);

/* Runs one statement that reads `bytes` of `body`, from its beginning. */
bool bp_clickhouse_insert(struct bp_clickhouse *client, const char *sql, FILE *body, uint64_t bytes,
	struct bp_error *error);

/* After a failure: may the same succeed later? */
bool bp_clickhouse_may_pass(const struct bp_clickhouse *client);

#endif
