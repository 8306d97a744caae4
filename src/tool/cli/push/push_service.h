/* SPDX-License-Identifier: MIT */
/*
 * Runs to a service that takes profiles by HTTP: Pyroscope, Parca, or a receiver of OpenTelemetry's
 * profiles. None of them can be asked whether it has a run, so a receipt of every run that was
 * taken is kept in the user's cache. Called by push.c. One thread.
 */
#ifndef BP_CLI_PUSH_PUSH_SERVICE_H
#define BP_CLI_PUSH_PUSH_SERVICE_H

#include <limits.h>
#include <signal.h>

#include "fleet/process_fields.h"
#include "service/service.h"

struct bp_push_service {
	struct bp_service *service; /* NULL: the store is none */
	unsigned kind;
	char receipts[PATH_MAX]; /* a folder, of this address */
	bool failed;		 /* it is down: the next runs would fare no better */
};

bool bp_push_service_is_address(const char *text);

/* Errors: those of bp_service_open, and a cache that cannot be made. bp_push_service_close is safe
 * afterwards and on zeroed memory. */
bool bp_push_service_open(struct bp_push_service *push, const char *address,
	const volatile sig_atomic_t *stopped, struct bp_error *error);
void bp_push_service_close(struct bp_push_service *push);

/* Is there a receipt of the run whose id is `id`, hexadecimal digits? */
bool bp_push_service_has(const struct bp_push_service *push, const char *id, bool *ret_there,
	struct bp_error *error);

/* Sends a run, as `bytepoll export` writes it without further options, and keeps the receipt.
 * `*ret_new` is false where another push of this user was faster. Errors: the service's; a part
 * that it rejected, which is not sent again. */
bool bp_push_service_put(struct bp_push_service *push, const struct bp_profile *profile,
	const struct bp_tags *tags, const char *id, bool *ret_new, struct bp_error *error);

#endif
