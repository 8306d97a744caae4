/* SPDX-License-Identifier: MIT */
/*
 * What the hot path touches: one small block of thread-local memory (initial-exec), which is zero
 * when a thread begins. Zero is the state of a thread that the recorder has not seen: its first
 * allocation borrows and takes the cold path. This header includes only the sampler's public
 * header; the files with the hot hooks include only this header and the table of real functions.
 */
#ifndef BP_RECOGNITION_HOT_H
#define BP_RECOGNITION_HOT_H

#include "bytepoll/sampler.h"

struct bp_thread;

struct bp_hot {
	struct bp_sampler_hot counters; /* the two words; an outside reader finds them here */
	struct bp_thread *thread;	/* NULL until the first cold path, and after the end */
	uint64_t unoffered_trials;	/* counted, but never passed to the sampler */
	uint64_t unoffered_objects;
	uint32_t busy;	  /* this thread is inside the recorder: nested calls pass through */
	uint16_t late;	  /* its destructors have run: each further visit counts as a new thread */
	uint16_t forking; /* nested forks that it is in: the outermost takes all locks */
	uint32_t labels;  /* the set of its tags (labels.h) */
	uint32_t telling; /* 1 + the index of the listener that it is in; 0: none (listeners.h) */
	uint16_t aside;	  /* bytes of an object that malloc is about to be asked for in another's
			   * stead (bp_aside_begin); 0: none */
	uint16_t aside_probes; /* who asked in between is being watched (sample.c) */
	uint32_t
		in_allocator; /* busy, but in the program's allocator: the recorder holds no lock */
} __attribute__((aligned(64))); /* a cache line that no other thread writes to */

/* Adds to what was not offered. A signal handler that allocates does so, too, at any moment: each
 * addition is one instruction that it cannot interrupt, or what it added would be lost. */
static inline void bp_hot_add_unoffered(struct bp_hot *hot, uint64_t trials, uint64_t objects)
{
	__atomic_fetch_add(&hot->unoffered_trials, trials, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hot->unoffered_objects, objects, __ATOMIC_RELAXED);
}

extern __thread struct bp_hot bp_hot
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Over glibc sampled objects are recognised by the size word before the object. glibc's own word is
 * below this limit for smaller chunks; from this limit on `free` asks the recorder. Over any other
 * malloc `free`, `realloc` and `malloc_usable_size` are rewritten (hooks/foreign.c, filter.h). */
#define BP_HEADER_LARGE 65536u

/* The size word before an object. */
static inline uint64_t bp_header_word(const void *object)
{
	return ((const uint64_t *)object)[-1];
}

#endif
