/* SPDX-License-Identifier: MIT */
/*
 * Samples as LTTng events. A library of its own, because LTTng allocates and starts threads, which
 * the recorder must not: where both are preloaded, this one listens to the recorder as any program
 * may (bytepoll/bytepoll.h), and hosts are passed on by the program itself (bytepoll/lttng.h).
 * While no session records, an event is a call and a test.
 *
 * What LTTng allocates for itself is the program's allocation to the recorder. Allocations from
 * within an event (LTTng's first in a thread) are recorded in the trace, but no events of their
 * own: the recorder tells no listener of them, and counts them.
 */
#include "bytepoll/bytepoll.h"
#include "bytepoll/host.h"
#include "bytepoll/lttng.h"
#include "tracepoints.h"

#define EXPORT __attribute__((visibility("default")))

static void tell_sample(const struct bp_event *event)
{
	const struct bp_lttng_alloc alloc = {
		.object = event->object,
		.size = event->size,
		.amount = (uint64_t)(event->weight * (double)event->size + 0.5),
		.sequence = event->sequence,
		.interval = event->interval,
		.offset = event->offset,
		.time_ns = event->time_ns,
		.type_name = "-",
		.kind = event->kind,
		.thread = event->thread,
	};
	const struct bp_lttng_stack stack = {
		.sequence = event->sequence, .frames = event->frames, .depth = event->depth
	};
	lttng_ust_tracepoint(bytepoll, alloc, &alloc);
	lttng_ust_tracepoint(bytepoll, stack, &stack);
}

static void tell_free(const struct bp_event *event)
{
	const struct bp_lttng_free freed = {
		.object = event->object,
		.sample = event->sample,
		.sequence = event->sequence,
		.time_ns = event->time_ns,
		.thread = event->thread,
		.end = event->by_realloc,
	};
	lttng_ust_tracepoint(bytepoll, free, &freed);
}

static void hear(const struct bp_event *event, void *context)
{
	(void)context;
	if (event->what == BP_EVENT_SAMPLED)
		tell_sample(event);
	else if (event->what == BP_EVENT_FREED)
		tell_free(event);
}

EXPORT void bytepoll_lttng_host_event(
	const struct bp_host_event *event, const void *object, const char *type_name)
{
	if (event == NULL) {
		const struct bp_lttng_free freed = { .object = object };
		lttng_ust_tracepoint(bytepoll, free, &freed);
		return;
	}
	const struct bp_lttng_alloc alloc = {
		.object = event->object,
		.size = event->size,
		.amount = event->amount_bytes,
		.type_id = event->type_id,
		.sequence = event->sequence,
		.interval = event->decision.interval,
		.offset = event->decision.exact ? 0 : event->decision.offset,
		.time_ns = event->time_ns,
		.type_name = *type_name == '\0' ? "-" : type_name,
		.kind = event->kind,
		.thread = event->thread,
		.runtime = event->runtime,
		.heap = event->heap,
	};
	lttng_ust_tracepoint(bytepoll, alloc, &alloc);
}

/* After LTTng's own constructors (it is linked, so they come first), and the recorder's. */
static __attribute__((constructor)) void begin(void)
{
	(void)bp_listen(hear, NULL);
}
