/* SPDX-License-Identifier: MIT */
/*
 * Programs that vfork children become, from the EXEC records of the process that made the children
 * (docs/trace-format.md 3.6). Called by trace.c.
 */
#ifndef BP_IMPORT_TRACE_TRACE_STARTED_H
#define BP_IMPORT_TRACE_TRACE_STARTED_H

#include "model/profile.h"
#include "trace/reader.h"

/* Adds what the record says to profile->started. Nothing is added for an exec of the process `by`
 * itself, nor for an image that cannot be profiled, which is counted elsewhere. */
bool bp_trace_started_add(struct bp_profile *profile, struct bp_process_id by,
	const struct bp_trace_exec *exec, struct bp_error *error);

#endif
