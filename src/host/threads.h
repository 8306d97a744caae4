/* SPDX-License-Identifier: MIT */
/*
 * A host's threads by number, with the counters they told last: those stand in the thread slots of the
 * trace (docs/trace-format.md 1.6), where a reader finds them after a kill, and are summed at the end.
 * Thread-safe; one thread's counters may be told by any.
 */
#ifndef BP_HOST_THREADS_H
#define BP_HOST_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "host/memory.h"
#include "trace/writer.h"

#define BP_HOST_THREADS_IN_PAGE 1024u
#define BP_HOST_THREAD_PAGES 1024u

struct bp_host_thread {
	struct bp_lock lock;
	uint32_t tid;		     /* of who made it known */
	struct bp_thread_slot *slot; /* NULL: none, or given back */
	uint64_t trials, objects;
	bool ended;
};

/* Zeroed memory is an empty, valid value. */
struct bp_host_threads {
	struct bp_lock lock;
	uint32_t count; /* ordinals 1 to count are known */
	struct bp_host_thread *pages[BP_HOST_THREAD_PAGES];
};

struct bp_host_totals {
	uint64_t trials, objects;
};

/* A new thread's ordinal; 0: no room (counted). Its begin is in the trace. */
uint32_t bp_host_threads_add(struct bp_host_threads *threads, struct bp_host_memory *memory,
	struct bp_writer *writer, const char *name);

/* Publishes counters; smaller ones than before, and unknown ordinals, are ignored. */
void bp_host_threads_publish(
	struct bp_host_threads *threads, uint32_t ordinal, struct bp_host_totals counters);

/* The same for the last time: its end goes to the trace and its slot to others. */
void bp_host_threads_end(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The end of recording: what every thread told last is final. Returns the sums over all of them, ended ones
 * included. */
struct bp_host_totals bp_host_threads_finish(struct bp_host_threads *threads);

#endif
