/* SPDX-License-Identifier: MIT */
/*
 * A host's threads by number, with their last counters. These are in the thread slots of the trace
 * (docs/trace-format.md 1.6), where a reader finds them after a kill, and are summed at the end.
 * Thread-safe; any thread may pass the counters of any other.
 */
#ifndef BP_HOST_THREADS_H
#define BP_HOST_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "host/memory.h"
#include "trace/writer/writer.h"

#define BP_HOST_THREADS_IN_PAGE 1024u
#define BP_HOST_THREAD_PAGES 1024u

struct bp_host_thread {
	struct bp_lock lock;
	uint32_t tid;		     /* of the thread that added it */
	struct bp_thread_slot *slot; /* NULL: none, or given back */
	uint64_t trials, objects;
	uint32_t command; /* number of the control word that it follows */
	bool ended;
};

/* Zeroed memory is an empty, valid value. */
struct bp_host_threads {
	struct bp_lock lock;
	uint32_t count;	  /* ordinals 1 to count are known */
	bool has_unknown; /* a thread that is not among them has made something */
	struct bp_host_thread *pages[BP_HOST_THREAD_PAGES];
};

struct bp_host_totals {
	uint64_t trials, objects;
};

/* The sums of all threads' last counters, and what is known of what they have made beyond these. */
struct bp_host_end {
	struct bp_host_totals totals;
	uint64_t open_threads; /* threads without a bp_host_threads_end */
	uint64_t open_trials;  /* 0: the sums are complete */
};

/* Adds a thread, writes its begin to the trace, and returns its ordinal; 0: there is no room, which
 * is counted. */
uint32_t bp_host_threads_add(struct bp_host_threads *threads, struct bp_host_memory *memory,
	struct bp_writer *writer, const char *name);

/* Is this the ordinal of a thread? */
bool bp_host_threads_knows(struct bp_host_threads *threads, uint32_t ordinal);

/* Publishes a thread's counters; smaller ones than before are ignored. For an unknown thread only
 * `has_unknown` is set. If a thread has ended, and its counters are larger now, it has gone on. */
void bp_host_threads_publish(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The same for a thread of which an object was sampled. */
void bp_host_threads_sampled(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The same for the last time: writes the thread's end to the trace, and frees its slot. If the
 * counters are smaller than before, the thread has not ended. */
void bp_host_threads_end(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The number of the control word that a thread follows; taking another one, which is false if it is
 * the same; and showing it in the thread's slot, once it is recorded. For known threads. */
uint32_t bp_host_threads_command(struct bp_host_threads *threads, uint32_t ordinal);
bool bp_host_threads_take_command(
	struct bp_host_threads *threads, uint32_t ordinal, uint32_t number);
void bp_host_threads_follow(struct bp_host_threads *threads, uint32_t ordinal);

/* Called at the end of recording: returns the sums. */
struct bp_host_end bp_host_threads_finish(struct bp_host_threads *threads);

#endif
