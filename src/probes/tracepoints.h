/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: what is told, while the program runs, to whoever listens from outside (docs/tracepoints.md
 * has the contract; perf, bpftrace, SystemTap, gdb and LTTng read it). Called by the recorder and by
 * hosts for every sample that was written to the trace and for every end of one.
 *
 * Each event has a semaphore, which a tracer counts up while it listens. So an event that nobody wants
 * costs one comparison with memory and a branch not taken, on the slow path; hot paths know nothing of it.
 * That is also the switch of which events are on: there is no other level.
 *
 * Thread-safe, async-signal-safe: nothing but reads and a call of an empty function.
 */
#ifndef BP_PROBES_TRACEPOINTS_H
#define BP_PROBES_TRACEPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* How often each event is listened to. Written by tracers; the offsets stand in the notes
 * (points_<machine>.c). What is asked about together lies together. */
struct bp_tracepoint_semaphores {
	union {
		struct {
			uint16_t alloc, otel_alloc;
		};
		uint32_t allocs;
	};
	union {
		struct {
			uint16_t free, otel_free;
		};
		uint32_t frees;
	};
	uint16_t interval, move;
};
extern struct bp_tracepoint_semaphores bp_tracepoint_semaphores
	__attribute__((visibility("hidden")));

/* A sampled object; the arguments of `bytepoll:alloc`, in their order. */
struct bp_tracepoint_alloc {
	const void *object;
	uint64_t size;	       /* bytes asked for */
	uint64_t amount_bytes; /* allocated bytes it stands for (sampler/amount.h) */
	uint32_t kind;	       /* docs/trace-format.md 3, SAMPLE */
	const char *type_name; /* "" if not known */
	uint64_t sequence;     /* its number in the trace */
	uint32_t thread;       /* its number in the trace */
	uint64_t type_id;      /* of the runtime's own; 0 not known */
	uint64_t interval;     /* T in force, bytes */
	uint32_t runtime;      /* which instance of a runtime, from 0; with */
	uint32_t heap;	       /* the heap number in one argument: runtime << 32 | heap */
	uint64_t offset;  /* failed trials of the object before its success; 0 if taken exactly */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

enum bp_tracepoint_end {
	BP_TRACEPOINT_FREED = 0,
	BP_TRACEPOINT_REALLOCATED = 1, /* its object was resized, or moved by realloc */
	BP_TRACEPOINT_UNSEEN =
		2 /* ended some time before: a collection, or a free nobody told of */
};

/* The end of one; the arguments of `bytepoll:free`. */
struct bp_tracepoint_free {
	const void *object;
	uint64_t sample; /* `sequence` of its alloc */
	uint64_t sequence;
	uint32_t thread;
	uint32_t end; /* enum bp_tracepoint_end */
	uint64_t time_ns;
};

/* Reads the value of BYTEPOLL_TRACEPOINTS (NULL: not set): `otel` switches the probes of OpenTelemetry's
 * contract on, `none` is like no value. False: it was not understood, and counts as absent. */
bool bp_tracepoints_configure(const char *value);

/* The halves of what follows that somebody listens to. */
BP_COLD void bp_tracepoint_tell_alloc(const struct bp_tracepoint_alloc *event);
BP_COLD void bp_tracepoint_tell_free(const struct bp_tracepoint_free *event);
BP_COLD void bp_tracepoint_tell_interval(
	uint32_t thread, uint64_t interval, uint64_t trials, uint64_t objects, uint64_t time_ns);
BP_COLD void bp_tracepoint_tell_move(
	const void *from, const void *to, uint64_t sample, uint64_t time_ns);

/* Does somebody listen? To be asked before an event is put together. */
static inline bool bp_tracepoint_wants_alloc(void)
{
	return bp_unlikely(
		__atomic_load_n(&bp_tracepoint_semaphores.allocs, __ATOMIC_RELAXED) != 0);
}

static inline bool bp_tracepoint_wants_free(void)
{
	return bp_unlikely(__atomic_load_n(&bp_tracepoint_semaphores.frees, __ATOMIC_RELAXED) != 0);
}

static inline bool bp_tracepoint_wants_interval(void)
{
	return bp_unlikely(
		__atomic_load_n(&bp_tracepoint_semaphores.interval, __ATOMIC_RELAXED) != 0);
}

static inline bool bp_tracepoint_wants_move(void)
{
	return bp_unlikely(__atomic_load_n(&bp_tracepoint_semaphores.move, __ATOMIC_RELAXED) != 0);
}

#endif
