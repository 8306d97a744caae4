/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace ahead: the records of a large file are decoded by a thread of their own while those
 * before are put into the profile. Private to import/.
 *
 * Records come in the same order, with the same errors, as from bp_trace_reader_next. Samples and frees,
 * which hold nothing but numbers, are handed over by the hundred; any other record points into memory of
 * the reader, which goes on only when that record has been dealt with. Until the last record the reader
 * belongs to its thread: the caller may look at its header, and at nothing else. A trace with a folded
 * part, whose clock grows as it is read, and a small one are read as they are asked for.
 *
 * Life: bp_trace_ahead_start; bp_trace_ahead_next until it says something else than BP_TRACE_RECORD;
 * bp_trace_ahead_stop, whenever and in any case, and only then the end of the reader.
 */
#ifndef BP_IMPORT_TRACE_AHEAD_H
#define BP_IMPORT_TRACE_AHEAD_H

#include "base/error.h"
#include "trace/reader.h"

struct bp_trace_ahead_state;

struct bp_trace_ahead {
	struct bp_trace_reader *reader;
	struct bp_trace_ahead_state *state; /* NULL: no thread */
};

/* Never fails: without memory or a thread, the caller's does it all. */
void bp_trace_ahead_start(struct bp_trace_ahead *ahead, struct bp_trace_reader *reader);

/* As bp_trace_reader_next. `*ret_record` is valid until the next call, and may be `buffer`. */
enum bp_trace_next bp_trace_ahead_next(struct bp_trace_ahead *ahead, struct bp_trace_record *buffer,
	const struct bp_trace_record **ret_record, struct bp_error *error);

void bp_trace_ahead_stop(struct bp_trace_ahead *ahead);

#endif
