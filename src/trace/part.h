/* SPDX-License-Identifier: MIT */
/*
 * The folded part beside a trace (docs/trace-format.md, section 5); private to the reader, which
 * hands its records out before those of the trace itself. It belongs to the trace if its header
 * says that it is a folded part and has the trace's id; anything else of that name is left alone.
 */
#ifndef BP_TRACE_PART_H
#define BP_TRACE_PART_H

#include "trace/reader.h"

/* Opens FILE.fold of the trace at `place`, whose header is read. Without one, `is_open` stays
 * false; one that is there and cannot be read is an error. */
bool bp_trace_part_open(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error);

/* Takes over a folded part that is open at `fd`. False: it is none of this trace, and is left
 * alone. */
bool bp_trace_part_adopt(struct bp_trace_reader *reader, int fd);

/* Takes what a record of a folded part says about the part itself. */
enum bp_trace_added bp_trace_part_take(
	struct bp_trace_reader *reader, const struct bp_trace_record *record);

void bp_trace_part_close(struct bp_trace_part *part);

/* Keeps folders away from the trace until `reader->fd` is closed. Where somebody else holds its
 * lock for longer than one waits, or files cannot be locked, it is read without. */
void bp_trace_part_lock(struct bp_trace_reader *reader);

/* The whole trace was read. If that was done without the lock: was it folded meanwhile? Then parts
 * of it may have been missed, which is an error. */
bool bp_trace_part_check(const struct bp_trace_reader *reader, struct bp_error *error);

#endif
