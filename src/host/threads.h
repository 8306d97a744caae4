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
	bool has_unknown; /* a thread that is not among them has made something */
	struct bp_host_thread *pages[BP_HOST_THREAD_PAGES];
};

struct bp_host_totals {
	uint64_t trials, objects;
};

/* The sums of what every thread told last, and what is known of what they made beyond that. */
struct bp_host_end {
	struct bp_host_totals totals;
	uint64_t open_threads; /* that told no end */
	uint64_t open_trials;  /* 0: there was nothing beyond */
};

/* A new thread's ordinal; 0: no room (counted). Its begin is in the trace. */
uint32_t bp_host_threads_add(struct bp_host_threads *threads, struct bp_host_memory *memory,
	struct bp_writer *writer, const char *name);

/* Publishes counters; smaller ones than before are ignored. Of a thread that is not known they only say that
 * there is one. A thread that has ended goes on if they are larger. */
void bp_host_threads_publish(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The same of a thread that has made an object at least. */
void bp_host_threads_sampled(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The same for the last time: its end goes to the trace and its slot to others. With smaller counters than
 * before it is no end. */
void bp_host_threads_end(struct bp_host_threads *threads, struct bp_writer *writer,
	uint32_t ordinal, struct bp_host_totals counters);

/* The end of recording. What a thread told last is final if that was its end. */
struct bp_host_end bp_host_threads_finish(struct bp_host_threads *threads);

#endif
