/* SPDX-License-Identifier: MIT */
/*
 * A service that takes profiles by one POST request each. Its address is a kind, a plus sign and an
 * URL: pyroscope+https://HOST:PORT/PREFIX. Who asks is said by the environment alone:
 * BYTEPOLL_PUSH_TOKEN (Authorization: Bearer), or BYTEPOLL_PUSH_USER and BYTEPOLL_PUSH_PASSWORD
 * (Basic), and BYTEPOLL_PUSH_TENANT (X-Scope-OrgID). These are sent by https, or to this machine,
 * and appear in no message. Certificates and the name of the host are verified, and no redirect is
 * followed.
 *
 * Called by cli/push. A service serves one thread.
 */
#ifndef BP_SERVICE_SERVICE_H
#define BP_SERVICE_SERVICE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bp_service;

#define BP_SERVICE_ANSWER_BYTES 1024u

/* The beginning of what the server answered. */
struct bp_service_answer {
	unsigned char bytes[BP_SERVICE_ANSWER_BYTES];
	size_t count;
};

/* Is it such an address, of one of the kinds, NULL behind the last? Then its number. */
bool bp_service_is_address(const char *text, const char *const *kinds, unsigned *ret_kind);

/* Opens what `address` names; `path` (with a slash before it) is added to the URL, and
 * `content_type` is that of all requests. `stopped` ends waiting when it is not 0. Errors: an
 * address that is none; libcurl is not there; a secret that would be sent unencrypted.
 * `*ret_service` is to be closed. */
bool bp_service_open(const char *address, const char *path, const char *content_type,
	const volatile sig_atomic_t *stopped, struct bp_service **ret_service,
	struct bp_error *error);
void bp_service_close(struct bp_service *service); /* NULL: nothing happens */

/* The URL that requests go to. */
const char *bp_service_url(const struct bp_service *service);

/* Sends the body and waits for an answer of status 2xx. Where another attempt may help (no answer,
 * 408, 429 and 5xx) it is sent again, up to six times in all, after pauses that double from 0.2 s
 * on, or as long as Retry-After says, a minute at most. A request whose answer did not come may
 * have arrived. Errors: what the server says last; that it was stopped. */
bool bp_service_send(struct bp_service *service, const void *body, size_t bytes,
	struct bp_service_answer *ret_answer, struct bp_error *error);

/* Was the last failure of bp_service_send about the service, so that other bodies would fare no
 * better? Otherwise it was about what was sent. */
bool bp_service_is_down(const struct bp_service *service);

#endif
