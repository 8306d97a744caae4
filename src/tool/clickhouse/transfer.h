/* SPDX-License-Identifier: MIT */
/*
 * One POST request by libcurl. The library is looked for at run time, as libdebuginfod is: whoever
 * asks no server needs none. It verifies certificates and the name of the host, follows no redirect
 * and speaks HTTP and HTTPS alone.
 *
 * Called by clickhouse.c. A transfer serves one thread.
 */
#ifndef BP_CLICKHOUSE_TRANSFER_H
#define BP_CLICKHOUSE_TRANSFER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "curl/curl.h"

#define BP_TRANSFER_TEXT_BYTES 512u

struct bp_transfer_answer {
	long status;			      /* of HTTP; 0: no whole answer came */
	bool may_pass;			      /* another attempt may help */
	bool exception;			      /* the server says that it failed, whatever status */
	long exception_code;		      /* the server's number of the reason; 0: not known */
	char problem[BP_TRANSFER_TEXT_BYTES]; /* without a whole answer: why */
};

struct bp_transfer {
	struct bp_curl curl;
	struct bp_curl_headers *headers;
};

/* `user` and `password`: who asks, for all requests: texts of the environment, sent as headers.
 * NULL: the server's default. Errors: libcurl is not there; memory; a text with control characters.
 * It is to be closed in any case. */
bool bp_transfer_open(struct bp_transfer *transfer, const char *user, const char *password,
	struct bp_error *error);
void bp_transfer_close(struct bp_transfer *transfer); /* safe on zeroed memory */

/* Sends `bytes` of `body`, from its beginning, to `url`, once and on a connection of its own, so
 * that nothing can arrive twice. What the server answers, also with an error, is appended to
 * `sink`. What went wrong is in the answer. `stopped` ends it when it is not 0; NULL: nothing
 * does. */
void bp_transfer_post(struct bp_transfer *transfer, const char *url, FILE *body, uint64_t bytes,
	FILE *sink, const volatile sig_atomic_t *stopped, struct bp_transfer_answer *ret_answer);

#endif
