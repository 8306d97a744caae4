/* SPDX-License-Identifier: MIT */
/*
 * See tracepoints.h. The events as calls of the probe points, each behind its own semaphore; the
 * order of arguments is the contract of docs/tracepoints.md.
 *
 * OpenTelemetry's probes (provider otel_memory) are read by a profiler that attaches to every
 * process with such notes. Its contract is young, and its provider's name provisional; so they are
 * off unless BYTEPOLL_TRACEPOINTS says `otel`, whatever their semaphores say.
 */
#include "probes/tracepoints.h"

#include <stddef.h>

#include "probes/points.h"

struct bp_tracepoint_semaphores bp_tracepoint_semaphores
	__attribute__((section(".probes"), used, visibility("hidden"), aligned(8)));

/* The notes name them by number. */
_Static_assert(offsetof(struct bp_tracepoint_semaphores, alloc) == 0, "points_<machine>.c");
_Static_assert(offsetof(struct bp_tracepoint_semaphores, otel_alloc) == 2, "points_<machine>.c");
_Static_assert(offsetof(struct bp_tracepoint_semaphores, free) == 4, "points_<machine>.c");
_Static_assert(offsetof(struct bp_tracepoint_semaphores, otel_free) == 6, "points_<machine>.c");
_Static_assert(offsetof(struct bp_tracepoint_semaphores, interval) == 8, "points_<machine>.c");
_Static_assert(offsetof(struct bp_tracepoint_semaphores, move) == 10, "points_<machine>.c");

static bool otel_on;

bool bp_tracepoints_configure(const char *value)
{
	const bool otel = value != NULL && __builtin_strcmp(value, "otel") == 0;
	__atomic_store_n(&otel_on, otel, __ATOMIC_RELAXED);
	return otel || value == NULL || *value == '\0' || __builtin_strcmp(value, "none") == 0;
}

static bool is_heard(const uint16_t *semaphore)
{
	return __atomic_load_n(semaphore, __ATOMIC_RELAXED) != 0;
}

static bool is_heard_by_otel(const uint16_t *semaphore)
{
	return __atomic_load_n(&otel_on, __ATOMIC_RELAXED) && is_heard(semaphore);
}

void bp_tracepoint_tell_alloc(const struct bp_tracepoint_alloc *event)
{
	const uint64_t object = (uint64_t)(uintptr_t)event->object;
	if (is_heard(&bp_tracepoint_semaphores.alloc))
		bp_point_alloc(object, event->size, event->amount_bytes, event->kind,
			event->type_name, event->sequence, event->thread, event->type_id,
			event->interval, (uint64_t)event->runtime << 32 | event->heap,
			event->offset, event->time_ns);
	if (is_heard_by_otel(&bp_tracepoint_semaphores.otel_alloc))
		bp_point_otel_alloc(object, event->size, event->amount_bytes);
}

void bp_tracepoint_tell_free(const struct bp_tracepoint_free *event)
{
	const uint64_t object = (uint64_t)(uintptr_t)event->object;
	if (is_heard(&bp_tracepoint_semaphores.free))
		bp_point_free(object, event->sample, event->sequence, event->thread, event->end,
			event->time_ns);
	if (is_heard_by_otel(&bp_tracepoint_semaphores.otel_free))
		bp_point_otel_free(object);
}

void bp_tracepoint_tell_interval(
	uint32_t thread, uint64_t interval, uint64_t trials, uint64_t objects, uint64_t time_ns)
{
	bp_point_interval(thread, interval, trials, objects, time_ns);
}

void bp_tracepoint_tell_move(const void *from, const void *to, uint64_t sample, uint64_t time_ns)
{
	bp_point_move((uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, sample, time_ns);
}
