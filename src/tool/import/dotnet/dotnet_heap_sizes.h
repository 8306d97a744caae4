/* SPDX-License-Identifier: MIT */
/*
 * The sizes of .NET's heap after each garbage collection, as the runtime tells them in its trace
 * (keyword 0x1, level 4), for the parts of the profile that are the runtime's
 * (model/runtime_parts.h). The importer gives the events of the collector in the order of the file.
 *
 * Life: zeroed memory knows of no collection; bp_dotnet_heap_sizes_finish frees what is held.
 * Thread-safety: the struct belongs to its caller.
 */
#ifndef BP_IMPORT_DOTNET_DOTNET_HEAP_SIZES_H
#define BP_IMPORT_DOTNET_DOTNET_HEAP_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "import/dotnet/dotnet_events.h"
#include "model/profile.h"

/* Moments of one process that are kept at most. */
#define BP_DOTNET_MOMENTS_MAX 1024u

/* What is known after one collection. */
struct bp_dotnet_moment {
	uint64_t ticks; /* of the file's clock */
	uint64_t order; /* the number of collections in the file before this one */
	struct bp_dotnet_heap_stats stats;
	struct bp_dotnet_committed committed;
	bool has_committed;
};

/* The last events of the collector on one thread. */
struct bp_dotnet_gc_thread {
	uint64_t tid; /* 0: nothing is known */
	enum bp_dotnet_event last;
	struct bp_dotnet_committed committed;
	bool has_committed; /* as of the end of the collection */
};

#define BP_DOTNET_GC_THREADS 256u

struct bp_dotnet_heap_sizes {
	/* Every `stride`-th collection, in the order of the file. */
	struct bp_dotnet_moment *moments;
	uint32_t count, capacity;
	uint64_t stride; /* a power of 2; 0: no collection yet */
	uint64_t seen;	 /* collections */
	struct bp_dotnet_moment latest, highest;
	/* By a hash of the thread's id; a thread takes the place of another. */
	struct bp_dotnet_gc_thread threads[BP_DOTNET_GC_THREADS];
};

/* Takes an event that is `what`; all but those of the collector are ignored, and so are payloads
 * that cannot be understood. False: no memory. */
bool bp_dotnet_heap_sizes_event(struct bp_dotnet_heap_sizes *sizes, enum bp_dotnet_event what,
	const struct bp_nettrace_event *event);

/* Adds the parts of all moments that are kept to the profile, in the order of time, and names the
 * runtime of the process, if there is a moment. `reader`: of the file. */
bool bp_dotnet_heap_sizes_add_parts(struct bp_dotnet_heap_sizes *sizes,
	const struct bp_nettrace_reader *reader, struct bp_profile *profile,
	struct bp_process_id process, struct bp_error *error);

void bp_dotnet_heap_sizes_finish(struct bp_dotnet_heap_sizes *sizes);

#endif
