/* SPDX-License-Identifier: MIT */
/*
 * Changes of the sampling interval (docs/trace-format.md 3.7): how much of each thread's life, and
 * of the whole process, was sampled and how much was not; private to the reader.
 */
#ifndef BP_TRACE_INTERVALS_H
#define BP_TRACE_INTERVALS_H

#include "trace/reader.h"

/* A T that was in force; 0 is none. */
void bp_trace_intervals_note(struct bp_trace_reader *reader, uint64_t interval);

/* An INTERVAL record. False: no memory. */
bool bp_trace_intervals_add(struct bp_trace_reader *reader, const struct bp_trace_interval *change);

/* After the last record, and bp_trace_threads_finish: sorts the changes, and tells each thread how
 * much of its bytes and objects was allocated while sampling was off. */
void bp_trace_intervals_finish(struct bp_trace_reader *reader);

/* Divides totals that are otherwise complete. */
void bp_trace_intervals_totals(
	const struct bp_trace_reader *reader, struct bp_trace_totals *totals);

/* An OUTAGE record; and after the last record the outage that went on, if one did. False: no
 * memory. */
bool bp_trace_intervals_outage(
	struct bp_trace_reader *reader, const struct bp_trace_outage *outage);
bool bp_trace_intervals_last_outage(struct bp_trace_reader *reader);

#endif
