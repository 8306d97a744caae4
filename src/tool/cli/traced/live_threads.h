/* SPDX-License-Identifier: MIT */
/*
 * The counters of the running threads of a profiled process, read from outside while they run: from
 * their slots in the trace (docs/trace-format.md 1.6), and where the kernel allows it from the
 * process's own memory, where they are true at every moment. Nothing is stopped: threads are read
 * one after another, each as it is just then.
 *
 * Who may read another process's memory: its owner and root, but for what the system forbids (the
 * setting kernel.yama.ptrace_scope, another container, a program that is not dumpable). Without it
 * the counters are what was published, and limits follow from that. Not thread-safe.
 */
#ifndef BP_CLI_TRACED_LIVE_THREADS_H
#define BP_CLI_TRACED_LIVE_THREADS_H

#include "cli/traced/traced.h"

struct bp_live_thread {
	uint64_t offset;	    /* of its slot in the file */
	struct bp_thread_slot slot; /* as it was published */
	bool current;		    /* its words were read from the process */
	bool moved; /* private: it was in the middle of something whenever it was looked at */
	bool gone;  /* it ended without the recorder's noticing */
	/* Both counters lay within these when the thread was read; equal if it was at rest. */
	uint64_t trials_low, trials_high, objects_low, objects_high;
	uint64_t left; /* at most so many trials until it comes to the recorder again */
};

struct bp_live_threads {
	struct bp_live_thread *items; /* in the order of their slots */
	uint32_t count, capacity;
	uint32_t current; /* of these, read from the process */
	int refused; /* errno with which the kernel refused to read its memory; 0: it did not */
	uint64_t *chunks; /* private: those that hold slots, beside chunk 0 */
	uint32_t chunk_count, chunk_capacity;
	uint64_t chunks_seen;
};

/* Reads every thread that runs. `*threads` is zeroed memory, or what an earlier call for the same
 * process left there. `memory` false: from the slots alone. False: no memory, or the file cannot be
 * read. */
bool bp_live_threads_read(const struct bp_traced *traced, bool memory,
	struct bp_live_threads *threads, struct bp_error *error);
/* The running thread of that number, or NULL. */
const struct bp_live_thread *bp_live_threads_find(
	const struct bp_live_threads *threads, uint32_t ordinal);
void bp_live_threads_finish(struct bp_live_threads *threads);

#endif
