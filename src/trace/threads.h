/* SPDX-License-Identifier: MIT */
/*
 * What is known of each thread's totals (docs/trace-format.md 1.6), gathered from slots, thread
 * ends and the counters in samples and frees; private to the reader.
 */
#ifndef BP_TRACE_THREADS_H
#define BP_TRACE_THREADS_H

#include "trace/reader.h"

/* Each returns false if there is no memory. */

/* Reads the slots of one chunk (`offset` in the file, `count` slots) and remembers the place for
 * bp_trace_threads_finish. Uses the reader's payload memory. */
bool bp_trace_threads_slots(struct bp_trace_reader *reader, uint64_t offset, uint32_t count);

/* A THREAD BEGIN or END. */
bool bp_trace_threads_event(
	struct bp_trace_reader *reader, const struct bp_trace_thread_event *event, bool end);

/* The counters of thread `ordinal` (0 is left out) in a sample or a free. */
bool bp_trace_threads_seen(
	struct bp_trace_reader *reader, uint32_t ordinal, uint64_t trials, uint64_t objects);

/* The same of many samples and frees. */
bool bp_trace_threads_seen_all(
	struct bp_trace_reader *reader, const struct bp_trace_record *records, uint32_t count);

/* After the last record: reads all slots again, as threads may have begun since. */
bool bp_trace_threads_finish(struct bp_trace_reader *reader);

/* Bytes = trials - charge * objects (1.6); never below 0, whatever a hostile file says. */
uint64_t bp_trace_bytes_of(const struct bp_trace_reader *reader, uint64_t trials, uint64_t objects);

/* Trials and the like of a process that did not end in order may be so many more than its threads
 * say: the object in flight; or what a fork that no handler saw hides. */
uint64_t bp_trace_unseen(const struct bp_trace_reader *reader);

/* Bytes at `offset` of the file that are there, at most `bytes`; the rest of `data` is zeroed.
 * SIZE_MAX: the disk failed, errno says how. */
size_t bp_trace_read_at(
	const struct bp_trace_reader *reader, void *data, size_t bytes, uint64_t offset);

#endif
