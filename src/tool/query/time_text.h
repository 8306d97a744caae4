/* SPDX-License-Identifier: MIT */
/* Times as options and filters have them. Pure functions, safe from any thread. */
#ifndef BP_QUERY_TIME_TEXT_H
#define BP_QUERY_TIME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "12.5", "3s", "500ms", "7us", "20ns", "2m", "2min" or "1h" since the start, into nanoseconds.
 * Errors begin with the text: it is no time, or one beyond 2^62 ns. */
bool bp_time_read(const char *text, uint64_t *ret_ns, struct bp_error *error);

/* A moment for people: "2026-01-31T23:59:00Z" of a day (`ns` since 1970), "12.5 s" since a start.
 */
void bp_moment_text(uint64_t ns, bool of_day, char *buffer, size_t bytes);

#endif
