/* SPDX-License-Identifier: MIT */
/*
 * The LTTng events of bytepoll: fields as of the USDT probes of the same names
 * (docs/tracepoints.md). An event is passed as one struct, because LTTng takes ten arguments and
 * there are more.
 *
 * LTTng includes this file several times, each time with other meanings of its macros: hence the
 * odd guard. Made by provider.c, used by listener.c.
 *
 * A type that is not known is "-" and not the empty string, in whose place babeltrace2 2.0.4 prints
 * the name of some event before it.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bytepoll

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tracepoints.h"

#if !defined(BP_LTTNG_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BP_LTTNG_TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#ifndef BP_LTTNG_EVENTS
#define BP_LTTNG_EVENTS
/* A sampled object. */
struct bp_lttng_alloc {
	const void *object;
	uint64_t size, amount, type_id, sequence, interval, offset, time_ns;
	const char *type_name;
	uint32_t kind, thread, runtime, heap;
};
/* The end of one. */
struct bp_lttng_free {
	const void *object;
	uint64_t sample, sequence, time_ns; /* 0: not known, of hosts */
	uint32_t thread;
	uint32_t end;
};
/* Where the sample of that number was allocated: return addresses, innermost first. */
struct bp_lttng_stack {
	uint64_t sequence;
	const uintptr_t *frames;
	uint32_t depth;
};
#endif

/* clang-format off */
LTTNG_UST_TRACEPOINT_ENUM(bytepoll, kind,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("malloc", 1)
		lttng_ust_field_enum_value("calloc", 2)
		lttng_ust_field_enum_value("realloc", 3)
		lttng_ust_field_enum_value("aligned", 4)
		lttng_ust_field_enum_value("new", 5)
		lttng_ust_field_enum_value("mmap", 6)
		lttng_ust_field_enum_value("pool", 7)
		lttng_ust_field_enum_value("small", 8)
		lttng_ust_field_enum_value("large", 9)
		lttng_ust_field_enum_value("pinned", 10)))

LTTNG_UST_TRACEPOINT_EVENT(bytepoll, alloc,
	LTTNG_UST_TP_ARGS(const struct bp_lttng_alloc *, event),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, object, (uint64_t)(uintptr_t)event->object)
		lttng_ust_field_integer(uint64_t, size, event->size)
		lttng_ust_field_integer(uint64_t, amount, event->amount)
		lttng_ust_field_enum(bytepoll, kind, uint32_t, kind, event->kind)
		lttng_ust_field_string(type_name, event->type_name)
		lttng_ust_field_integer_hex(uint64_t, type_id, event->type_id)
		lttng_ust_field_integer(uint32_t, thread, event->thread)
		lttng_ust_field_integer(uint64_t, sequence, event->sequence)
		lttng_ust_field_integer(uint64_t, interval, event->interval)
		lttng_ust_field_integer(uint32_t, runtime, event->runtime)
		lttng_ust_field_integer(uint32_t, heap, event->heap)
		lttng_ust_field_integer(uint64_t, offset, event->offset)
		lttng_ust_field_integer(uint64_t, time, event->time_ns)))
LTTNG_UST_TRACEPOINT_LOGLEVEL(bytepoll, alloc, LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO)

LTTNG_UST_TRACEPOINT_EVENT(bytepoll, free,
	LTTNG_UST_TP_ARGS(const struct bp_lttng_free *, event),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, object, (uint64_t)(uintptr_t)event->object)
		lttng_ust_field_integer(uint64_t, sample, event->sample)
		lttng_ust_field_integer(uint64_t, sequence, event->sequence)
		lttng_ust_field_integer(uint32_t, thread, event->thread)
		lttng_ust_field_integer(uint32_t, end, event->end)
		lttng_ust_field_integer(uint64_t, time, event->time_ns)))
LTTNG_UST_TRACEPOINT_LOGLEVEL(bytepoll, free, LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE)

LTTNG_UST_TRACEPOINT_EVENT(bytepoll, stack,
	LTTNG_UST_TP_ARGS(const struct bp_lttng_stack *, event),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, sequence, event->sequence)
		lttng_ust_field_sequence_hex(uintptr_t, frames, event->frames, uint32_t, event->depth)))
LTTNG_UST_TRACEPOINT_LOGLEVEL(bytepoll, stack, LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION)

#endif

#include <lttng/tracepoint-event.h>
