/* SPDX-License-Identifier: MIT */
/*
 * The tags of threads (bytepoll/bytepoll.h), which samples carry as labels: docs/trace-format.md
 * 3.8. A thread has one number, bp_hot.labels, which stands for its whole set of tags. The text of
 * a set is its `key=value` pairs, sorted by key, with a newline between two. So a sample costs one
 * load, and the end of a scope stores the number from before.
 */
#ifndef BP_RECORDER_PROGRAM_LABELS_H
#define BP_RECORDER_PROGRAM_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/label_set.h"

/* The number of every set that found no room: samples under it have no labels, which is counted. */
#define BP_LABELS_UNKNOWN UINT32_MAX

#define BP_LABELS_SETS 16384u
#define BP_LABELS_TABLE_BYTES ((uint64_t)2 << 20)

/* Changes the calling thread's set as bp_label_set_with does, and returns the number of the set
 * before in `ret_before`. False as there, and in a signal handler that interrupted the recorder. */
bool bp_labels_change(const char *key, const char *value, uint32_t *ret_before);

/* Called within a visit. Returns the number of a set in the trace, and writes the set to the trace
 * if it is not there yet; 0: there is no set, or it is lost (which is counted). */
uint32_t bp_labels_of(uint32_t labels);

void bp_labels_lock(void);
void bp_labels_unlock(void);
void bp_labels_after_fork(void);

#endif
