/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: events for tracers outside the process, while the program runs (docs/tracepoints.md
 * is the contract; perf, bpftrace, SystemTap, gdb and LTTng can listen). The recorder and hosts
 * call these functions for every sample that was written to the trace, and for every end of one.
 *
 * Each event has a semaphore, which a tracer increments while it listens. So an event without a
 * listening tracer costs one comparison with memory and a branch that is not taken, on the slow
 * path; hot paths contain nothing of it. The semaphores are also the only switch for events.
 *
 * Thread-safe, async-signal-safe: the functions only read, and call an empty function.
 */
#ifndef BP_PROBES_TRACEPOINTS_H
#define BP_PROBES_TRACEPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* How many tracers listen to each event. Written by tracers; the offsets stand in the notes
 * (points_<machine>.c). Semaphores that are tested together lie together. */
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
	uint64_t size;	       /* bytes requested */
	uint64_t amount_bytes; /* allocated bytes it stands for (sampler/amount.h) */
	uint32_t kind;	       /* docs/trace-format.md 3, SAMPLE */
	const char *type_name; /* "" if not known */
	uint64_t sequence;     /* its number in the trace */
	uint32_t thread;       /* its number in the trace */
	uint64_t type_id;      /* of the runtime's own; 0 not known */
	uint64_t interval;     /* T in force, bytes */
	uint32_t runtime;      /* which instance of a runtime, from 0 */
	uint32_t heap;	       /* its heap number; one argument: runtime << 32 | heap */
	uint64_t offset;  /* failed trials of the object before its success; 0 if taken exactly */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};

enum bp_tracepoint_end {
	BP_TRACEPOINT_FREED = 0,
	BP_TRACEPOINT_REALLOCATED = 1, /* its object was resized, or moved by realloc */
	BP_TRACEPOINT_UNSEEN =
		2 /* ended some time before, by a collection or by a free that was not seen */
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

/* Reads the value of BYTEPOLL_TRACEPOINTS (NULL: not set). `otel` switches the probes of
 * OpenTelemetry's contract on; `none` means the same as no value. False: the value is not valid,
 * and counts as not set. */
bool bp_tracepoints_configure(const char *value);

/* These fire an event. Called only if the function below says that a tracer listens. */
BP_COLD void bp_tracepoint_tell_alloc(const struct bp_tracepoint_alloc *event);
BP_COLD void bp_tracepoint_tell_free(const struct bp_tracepoint_free *event);
BP_COLD void bp_tracepoint_tell_interval(
	uint32_t thread, uint64_t interval, uint64_t trials, uint64_t objects, uint64_t time_ns);
BP_COLD void bp_tracepoint_tell_move(
	const void *from, const void *to, uint64_t sample, uint64_t time_ns);

/* Does a tracer listen? Called before the fields of an event are put together. */
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
