/* SPDX-License-Identifier: MIT */
/*
 * The tags of threads (bytepoll/bytepoll.h), which samples carry as labels: docs/trace-format.md 3.8. A
 * thread has one number, bp_hot.labels, of a whole set: the text that the trace has of it, `key=value`
 * pairs sorted by key, a newline between two. So a sample costs a load, and a scope ends by putting a
 * number back.
 */
#ifndef BP_RECORDER_LABELS_H
#define BP_RECORDER_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a set that found no room: samples under it are without labels, which is counted. */
#define BP_LABELS_UNKNOWN UINT32_MAX

#define BP_LABEL_KEY_BYTES 100u
#define BP_LABEL_VALUE_BYTES 400u
#define BP_LABELS_BYTES 1000u
#define BP_LABELS_SETS 16384u
#define BP_LABELS_TABLE_BYTES ((uint64_t)2 << 20)

/* The set `text` with `key` having `value` (NULL: without the key), in `to`, room for BP_LABELS_BYTES.
 * False: no right key or value, or no room. Pure. */
bool bp_labels_with(const char *text, size_t bytes, const char *key, const char *value, char *to,
	size_t *ret_bytes);

/* The calling thread's set with that change; the one before in `ret_before`. False as above, and where the
 * recorder is in the middle of something (a signal handler). */
bool bp_labels_change(const char *key, const char *value, uint32_t *ret_before);

/* Within a visit: the number of a set as the trace has it, which is written if need be; 0: none, or lost
 * (which is counted). */
uint32_t bp_labels_of(uint32_t labels);

void bp_labels_lock(void);
void bp_labels_unlock(void);
void bp_labels_after_fork(void);

#endif
