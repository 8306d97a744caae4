/* SPDX-License-Identifier: MIT */
/*
 * What a store says of a run, one thing of it: its service, its release, its machine, or the value
 * of one of its tags. Rows can be by that. Private to fleet/. Pure.
 */
#ifndef BP_FLEET_ORIGIN_H
#define BP_FLEET_ORIGIN_H

#include <stddef.h>

/* The heads of a row of table `processes` that are about the run; no text is NULL. */
struct bp_origin_heads {
	const char *service, *release, *host;
	const char *tags; /* `key=value`, a line each */
};

/* The text that `word` ("service", "release", "host" or "tag:KEY") asks for, and its length in
 * bytes: "" where the run has none. It lies in `heads`. */
const char *bp_origin_text(
	const struct bp_origin_heads *heads, const char *word, size_t *ret_length);

#endif
