/* SPDX-License-Identifier: MIT */
/* The allocation context as it was before there was sampling. */
#ifndef GC_CONTEXT_H
#define GC_CONTEXT_H

#include <stdint.h>

typedef struct {
	uintptr_t pointer; /* next free byte */
	uintptr_t limit;   /* end of the context */
} gc_context;

struct gc_heap;
struct gc_thread;

static inline void gc_context_refill(gc_context *context, uintptr_t start, uintptr_t end)
{
	context->pointer = start;
	context->limit = end;
}

static inline void gc_context_leave(gc_context *context)
{
	context->pointer = context->limit = 0;
}

static inline void gc_samples_thread_begin(struct gc_thread *thread, const char *name)
{
	(void)thread;
	(void)name;
}

static inline void gc_samples_thread_end(struct gc_thread *thread)
{
	(void)thread;
}

static inline void gc_samples_collected(struct gc_heap *heap)
{
	(void)heap;
}

#endif
