/* SPDX-License-Identifier: MIT */
/*
 * A host's events as tracepoints (probes/tracepoints.h, docs/tracepoints.md). Called after the
 * record of an event was written, without a lock held. While no tracer listens each call is one
 * comparison with memory. Thread-safe.
 */
#ifndef BP_HOST_PROBES_H
#define BP_HOST_PROBES_H

#include "bytepoll/host.h"
#include "probes/tracepoints.h"
#include "trace/writer/writer.h"

/* The slow halves of the functions below. */
BP_COLD void bp_host_tell_sampled(const struct bp_host_event *event, const char *type_name);
BP_COLD void bp_host_tell_freed(const struct bp_record_free *record, const void *object);
BP_COLD void bp_host_tell_moved(const void *from, const void *to, uint64_t sample);

/* Does a tracer listen to samples? If not, bp_host_probe_sampled need not be called. */
static inline bool bp_host_probe_wants(void)
{
	return bp_tracepoint_wants_alloc();
}

/* All fields of `event` are filled in. Sequence 0: its record was lost, and no tracepoint is fired.
 * `type_name` is terminated; it is "" if the type is not known. */
static inline void bp_host_probe_sampled(const struct bp_host_event *event, const char *type_name)
{
	if (bp_tracepoint_wants_alloc() && event->sequence != 0)
		bp_host_tell_sampled(event, type_name);
}

/* The end of a sample, as its record says. Thread 0: the end was found later, and not reported by a
 * thread. */
static inline void bp_host_probe_freed(const struct bp_record_free *record, const void *object)
{
	if (bp_tracepoint_wants_free())
		bp_host_tell_freed(record, object);
}

static inline void bp_host_probe_moved(const void *from, const void *to, uint64_t sample)
{
	if (bp_tracepoint_wants_move())
		bp_host_tell_moved(from, to, sample);
}

/* See bp_tracepoint_tell_interval. */
static inline void bp_host_probe_interval(
	uint32_t thread, uint64_t interval, uint64_t trials, uint64_t objects, uint64_t time_ns)
{
	if (bp_tracepoint_wants_interval())
		bp_tracepoint_tell_interval(thread, interval, trials, objects, time_ns);
}

#endif
