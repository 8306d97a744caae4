/* SPDX-License-Identifier: MIT */
/*
 * Duktape's memory, sampled: the functions that duk_create_heap takes. A heap belongs to one thread
 * at a time, and has counters of its own, so each heap is a thread of the trace.
 *
 * The order of the calls: sampled_heaps_open; for each heap sampled_heap_begin, duk_create_heap with
 * the three functions and the heap as their argument, sampled_heap_made; the heap's work; then
 * sampled_heap_end. When every heap has ended: sampled_heaps_close. Duktape's heaps may be destroyed
 * before or after that: what is live then is recorded as live, or as freed.
 */
#ifndef EXAMPLE_SAMPLED_HEAP_H
#define EXAMPLE_SAMPLED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <duktape.h>

#include "bytepoll/host.h"

struct sampled_heap {
	struct bp_sampler_hot hot; /* what every allocation touches */
	struct bp_sampler sampler;
	duk_context *context; /* NULL until sampled_heap_made */
	uint32_t thread;      /* number of the host */
	uint32_t ordinal;     /* of the heap in this process, from 0 */
	uint32_t labels;      /* of what the heap works on; 0: none */
	uint32_t outside;     /* stack of what is allocated while no function runs */
	size_t used, limit;   /* bytes; limit 0: there is none */
};

/* Reads the settings of every host from the environment and opens the trace. False: there is no
 * trace, and `problem`, which has room for BP_HOST_PROBLEM_BYTES, says why. All other functions
 * work without one. */
bool sampled_heaps_open(char *problem);
/* After the last heap has ended. */
void sampled_heaps_close(void);

/* `limit`: bytes that the heap may use; 0: no limit. */
void sampled_heap_begin(struct sampled_heap *heap, const char *thread_name, size_t limit);
void sampled_heap_made(struct sampled_heap *heap, duk_context *context);
/* What Duktape does in `file` while no function runs, such as "(compile)". */
void sampled_heap_does(struct sampled_heap *heap, const char *what, const char *file);
/* What the heap works on from now on; no labels: nothing in particular. */
void sampled_heap_labels(
	struct sampled_heap *heap, const struct bp_host_label *labels, uint32_t count);
/* Its counters are the last ones. */
void sampled_heap_end(struct sampled_heap *heap);

/* For duk_create_heap; `heap` is a struct sampled_heap. */
void *sampled_heap_alloc(void *heap, duk_size_t size);
void *sampled_heap_realloc(void *heap, void *object, duk_size_t size);
void sampled_heap_free(void *heap, void *object);

#endif
