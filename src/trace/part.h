/* SPDX-License-Identifier: MIT */
/*
 * The folded part beside a trace (docs/trace-format.md, section 5); private to the reader, which
 * hands its records out before those of the trace itself. It belongs to the trace if its header
 * says that it is a folded part and has the trace's id; anything else of that name is left alone.
 */
#ifndef BP_TRACE_PART_H
#define BP_TRACE_PART_H

#include "trace/reader.h"

/* Opens FILE.fold of the trace at `place`, whose header is read. Without one, `is_open` stays false;
 * one that is there and cannot be read is an error. */
bool bp_trace_part_open(
	struct bp_trace_reader *reader, const struct bp_place *place, struct bp_error *error);

/* Takes what a record of a folded part says about the part itself. */
enum bp_trace_added bp_trace_part_take(
	struct bp_trace_reader *reader, const struct bp_trace_record *record);

void bp_trace_part_close(struct bp_trace_part *part);

/* Waits until nobody folds the trace open at `fd`, and keeps others from it until that is closed.
 * Where files cannot be locked nothing happens. */
void bp_trace_part_lock(int fd);

#endif
