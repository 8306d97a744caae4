/* SPDX-License-Identifier: MIT */
/* The inside of the collector: spaces, threads, large objects. gc.h is for those who allocate. */
#ifndef GC_HEAP_H
#define GC_HEAP_H

#include "gc.h"

/* Where objects are moved to and from. Its memory is fresh from the kernel, so it is zeroed. */
struct gc_space {
	char *start, *next, *end;
};

/* In front of each object that is never moved. */
struct gc_still {
	struct gc_still *next, *grey; /* all of them; those to be scanned */
	size_t bytes;		      /* mapped */
	bool marked;
	uint64_t object[]; /* aligned as objects are */
};

struct gc_heap {
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t changed;
	bool stopping;
	unsigned running; /* threads that are not waiting */
	struct gc_thread *threads;
	struct gc_space space;
	struct gc_still *still, *grey;
	size_t still_bytes; /* since the last collection */
	size_t context_bytes, space_bytes;
	struct gc_samples *samples;
	struct gc_totals totals;
};

/* A context with room for `bytes`, after a collection if need be. */
void gc_refill(struct gc_thread *thread, size_t bytes);
/* Memory of its own for an object, after a collection if need be. */
struct gc_object *gc_allocate_still(struct gc_thread *thread, size_t bytes);

/* With the lock held and all other threads stopped: `bytes` will fit into the space then. */
void gc_copy_all(struct gc_heap *heap, size_t bytes);
/* Where the object is now, during a collection; NULL: nowhere, it is garbage. */
struct gc_object *gc_survivor(struct gc_heap *heap, const struct gc_object *object);

#endif
