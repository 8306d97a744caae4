/* SPDX-License-Identifier: MIT */
/*
 * What the hot path touches: one small block of thread-local memory, initial-exec, zero at birth.
 * Zero is the state of a thread never seen: its first allocation borrows and takes the cold path.
 * Includes nothing but the sampler's public header; the files with the hot hooks include nothing but
 * this and the table of real functions.
 */
#ifndef BP_RECORDER_HOT_H
#define BP_RECORDER_HOT_H

#include "bytepoll/sampler.h"

struct bp_thread;

struct bp_hot {
	struct bp_sampler_hot counters; /* the two words; an outside reader finds them here */
	struct bp_thread *thread;	/* NULL until the first cold path, and after the end */
	uint64_t unoffered_trials;	/* counted, but never offered to the sampler */
	uint64_t unoffered_objects;
	uint32_t busy;	  /* this thread is inside the recorder: nested calls pass through */
	uint16_t late;	  /* its destructors have run: each further visit is a thread of its own */
	uint16_t forking; /* forks it is in, one within the other: the first takes all locks */
	uint32_t labels;  /* the set of its tags (labels.h) */
	uint32_t telling; /* the listener that it is in, and 1 (listeners.h) */
} __attribute__((aligned(64))); /* a cache line that no other thread writes to */

extern __thread struct bp_hot bp_hot
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Over glibc sampled objects are told from others by the size word before the object, which glibc's own
 * headers keep below this for smaller chunks: from here on `free` asks the recorder. Over any other
 * malloc `free` and its like are rewritten (hooks/foreign.c, filter.h). */
#define BP_HEADER_LARGE 65536u

/* The size word before an object. */
static inline uint64_t bp_header_word(const void *object)
{
	return ((const uint64_t *)object)[-1];
}

#endif
