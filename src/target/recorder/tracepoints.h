/* SPDX-License-Identifier: MIT */
/*
 * The recorder's events as tracepoints (probes/tracepoints.h). Each is fired directly after its
 * record was written, within the visit, and only if a tracer listens. For a sample whose record was
 * lost no tracepoint is fired, because it does not become a sample; for a free it is always fired,
 * because it was fired for its sample. Thread-safe.
 */
#ifndef BP_RECORDER_TRACEPOINTS_H
#define BP_RECORDER_TRACEPOINTS_H

#include "probes/tracepoints.h"
#include "trace/writer/writer.h"

/* The slow halves of the two functions below. */
BP_COLD void bp_tell_sample(const struct bp_record_sample *record);
BP_COLD void bp_tell_free(
	const struct bp_record_free *record, const void *object, enum bp_tracepoint_end end);

static inline void bp_trace_sample(const struct bp_record_sample *record)
{
	if (bp_tracepoint_wants_alloc())
		bp_tell_sample(record);
}

static inline void bp_trace_free(
	const struct bp_record_free *record, const void *object, enum bp_tracepoint_end end)
{
	if (bp_tracepoint_wants_free())
		bp_tell_free(record, object, end);
}

#endif
