/* SPDX-License-Identifier: MIT */
/* What stands before the records of a trace; private to the reader. */
#ifndef BP_TRACE_HEAD_H
#define BP_TRACE_HEAD_H

#include "trace/reader.h"

/* Reads header and state of the trace that is open. Errors name `path`. */
bool bp_trace_head_read(struct bp_trace_reader *reader, const char *path, struct bp_error *error);

#endif
