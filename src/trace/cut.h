/* SPDX-License-Identifier: MIT */
/*
 * Does a trace end before what was written to it (docs/trace-format.md, section 1)? Private to the
 * reader, which asks once, after the last record.
 */
#ifndef BP_TRACE_CUT_H
#define BP_TRACE_CUT_H

#include "trace/reader.h"

/* Looks at the trace and its folded part. The ranges of the folded part must have been read. */
bool bp_trace_is_cut(const struct bp_trace_reader *reader);

#endif
