/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace by the hundred records, and ahead: those of a large file are decoded by a thread
 * of their own while those before are put into the profile. Private to import/.
 *
 * Records come in the same order, with the same errors, as from bp_trace_reader_next, and are
 * handed over by the hundred, whatever they are: frames and texts, which lie in memory of the
 * reader, are copied into the batch, so that the reader never has to wait until a record was dealt
 * with. (There may be a record of a thread's begin and one of its end between any two samples.) The
 * first step of their join is done here, too. Until the last record the reader belongs to its
 * thread, and of the join what belongs to the first step: the caller may look at the reader's
 * header, and at nothing else. A trace with a folded part, whose clock grows as it is read, and a
 * small one are read as they are asked for; records that only a folded part holds are not copied,
 * and end their batch.
 *
 * Life: bp_trace_ahead_start; bp_trace_ahead_next until it says something else than
 * BP_TRACE_RECORD; bp_trace_ahead_stop, whenever and in any case, and only then the end of the
 * reader.
 */
#ifndef BP_IMPORT_TRACE_TRACE_AHEAD_H
#define BP_IMPORT_TRACE_TRACE_AHEAD_H

#include "base/error.h"
#include "import/trace/trace_join.h"
#include "trace/reader.h"

#define BP_TRACE_BATCH_RECORDS BP_JOIN_RECORDS

struct bp_trace_batch {
	struct bp_trace_record records[BP_TRACE_BATCH_RECORDS];
	struct bp_join_numbered numbered; /* of the records, for bp_trace_join_take */
	uint32_t count;
	/* Private. */
	enum bp_trace_next then; /* what came behind them */
	uint8_t *kept;		 /* the records' frames and texts */
	uint32_t kept_bytes, kept_capacity;
};

struct bp_trace_ahead_state;

struct bp_trace_ahead {
	struct bp_trace_ahead_state *state;
};

/* `join` is that of the reader. False: no memory. */
bool bp_trace_ahead_start(struct bp_trace_ahead *ahead, struct bp_trace_reader *reader,
	struct bp_trace_join *join, struct bp_error *error);

/* As bp_trace_reader_next, but of a batch of at least one record, which is valid until the next
 * call. */
enum bp_trace_next bp_trace_ahead_next(struct bp_trace_ahead *ahead,
	const struct bp_trace_batch **ret_batch, struct bp_error *error);

void bp_trace_ahead_stop(struct bp_trace_ahead *ahead);

#endif
