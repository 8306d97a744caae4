/* SPDX-License-Identifier: MIT */
/*
 * The recorder's events as tracepoints (probes/tracepoints.h): each is told right after its record was
 * written, within the visit, and only if somebody listens. A sample whose record was lost is not told (it
 * is no sample: nothing remembers it); a free always is, since its sample was. Thread-safe.
 */
#ifndef BP_RECORDER_TRACEPOINTS_H
#define BP_RECORDER_TRACEPOINTS_H

#include "probes/tracepoints.h"
#include "trace/writer.h"

/* The slow halves. */
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
