/* SPDX-License-Identifier: MIT */
/*
 * The text of a set of labels, as a LABELS record holds it (docs/trace-format.md 3.8): its
 * `key=value` pairs, sorted by key, with a newline between two. Freestanding; pure.
 */
#ifndef BP_TRACE_LABEL_SET_H
#define BP_TRACE_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>

/* The most bytes of a key, of a value, and of a set. */
#define BP_LABEL_KEY_BYTES 100u
#define BP_LABEL_VALUE_BYTES 400u
#define BP_LABELS_BYTES 1000u

/* Writes to `to`, which has room for BP_LABELS_BYTES, the set `text` with `value` for `key` (NULL:
 * without the key). False: the key or the value is not valid, or there is no room. `to` and `text`
 * do not overlap. */
bool bp_label_set_with(const char *text, size_t bytes, const char *key, const char *value, char *to,
	size_t *ret_bytes);

#endif
