/* SPDX-License-Identifier: MIT */
/*
 * For hosts (bytepoll/host.h): their samples as LTTng events (docs/tracepoints.md), by
 * libbytepoll-lttng.so. Nothing of LTTng is linked: the library is preloaded, or linked, or not
 * there. What the recorder samples of malloc it tells by itself; this header is for hosts alone.
 *
 *	struct bp_host *host = bp_host_open(...);
 *	bp_lttng_host(host);
 */
#ifndef BYTEPOLL_LTTNG_H
#define BYTEPOLL_LTTNG_H

#include <stdbool.h>
#include <stddef.h>

#include "bytepoll/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of libbytepoll-lttng.so: one event of a host. `event` NULL: the end of `object`. `type_name`: of
 * the event's type, "" if it is not known; terminated. Any thread. */
void bytepoll_lttng_host_event(const struct bp_host_event *event, const void *object,
	const char *type_name) __attribute__((weak));

static inline void bp_lttng_listener(
	const struct bp_host_event *event, const void *object, void *context)
{
	const char *name = "";
	if (event != NULL)
		name = bp_host_type_name((const struct bp_host *)context, event->type);
	bytepoll_lttng_host_event(event, object, name);
}

/* Tells the host's events from now on; takes one of its listeners. False: the library is not there,
 * or there is no room. */
static inline bool bp_lttng_host(struct bp_host *host)
{
	return bytepoll_lttng_host_event != NULL && bp_host_listen(host, bp_lttng_listener, host);
}

#ifdef __cplusplus
}
#endif

#endif
