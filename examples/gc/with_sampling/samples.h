/* SPDX-License-Identifier: MIT */
/*
 * What the collector tells of sampled objects: to a bp_host, which writes a trace that `bytepoll
 * report --by type` reads, and calls listeners.
 */
#ifndef GC_SAMPLES_H
#define GC_SAMPLES_H

#include "bytepoll/host.h"
#include "gc.h"

struct gc_samples {
	struct bp_host *host;	 /* NULL: nobody is told */
	uint64_t interval;	 /* T of threads that begin */
	uint64_t interval_first; /* that the host was opened with */
	uint32_t law;
	uint64_t seed;
	uint64_t threads; /* begun so far */
	uint64_t told;	  /* samples so far */
};

/* `samples` must outlive the heap. `host` may be NULL: objects are sampled all the same. */
void gc_samples_init(struct gc_samples *samples, struct bp_host *host, uint64_t seed,
	uint64_t interval, uint32_t law);

void gc_samples_type(struct gc_samples *samples, struct gc_type *type);

/* T from now on, of every thread of the heap, each from its next slow path; by any thread. */
void gc_samples_set_interval(struct gc_heap *heap, uint64_t interval);

/* The function that allocates, as the host's language calls it; pops what was pushed last. */
void gc_samples_push(
	struct gc_thread *thread, const char *function, const char *file, uint32_t line);
void gc_samples_pop(struct gc_thread *thread);

void gc_samples_tell(struct gc_thread *thread, const struct gc_object *object, size_t bytes,
	enum bp_host_kind kind, const struct bp_decision *decision);

/* T is another since the thread had allocated so many bytes. */
void gc_samples_interval_changed(struct gc_thread *thread, uint64_t interval, uint64_t allocated);

/* Bytes that a thread has allocated: exact, and counted by nobody. */
uint64_t gc_samples_bytes(const struct gc_thread *thread);

#endif
