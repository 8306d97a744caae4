/* SPDX-License-Identifier: MIT */
/* The allocation context is bytepoll's: what the fast path reads of it has the names and the places
 * it had before. */
#ifndef GC_CONTEXT_H
#define GC_CONTEXT_H

#include "bytepoll/alloc_context.h"

typedef struct bp_alloc_context gc_context;

struct gc_heap;
struct gc_thread;

static inline void gc_context_refill(gc_context *context, uintptr_t start, uintptr_t end)
{
	bp_alloc_context_refill(context, start, end);
}

static inline void gc_context_leave(gc_context *context)
{
	bp_alloc_context_leave(context);
}

void gc_samples_thread_begin(struct gc_thread *thread, const char *name);
void gc_samples_thread_end(struct gc_thread *thread);
/* During a collection, when everything has been copied and the old space is still there. */
void gc_samples_collected(struct gc_heap *heap);

#endif
