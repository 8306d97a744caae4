/* SPDX-License-Identifier: MIT */
/*
 * What the events of the .NET runtime say that a profile of allocations needs: sampled allocations,
 * methods and the code they occupy, modules. Events are known by provider and number; the runtime
 * describes no fields in its files, so their layouts stand here. Later versions may append fields.
 * Pure. Source: the runtime's ClrEtwAll.man and the traces in tests/data/dotnet.
 */
#ifndef BP_IMPORT_DOTNET_DOTNET_EVENTS_H
#define BP_IMPORT_DOTNET_DOTNET_EVENTS_H

#include "import/dotnet/nettrace_reader.h"

/* Longest names kept, bytes of UTF-8. */
#define BP_DOTNET_NAME_BYTES 1024u

enum bp_dotnet_event {
	BP_DOTNET_OTHER,
	BP_DOTNET_SAMPLE,	  /* AllocationSampled, since .NET 10 */
	BP_DOTNET_TICK,		  /* AllocationTick: not a random sample */
	BP_DOTNET_METHOD_LOAD,	  /* code of a method begins to exist */
	BP_DOTNET_METHOD_UNLOAD,  /* and ceases to */
	BP_DOTNET_METHOD_RUNDOWN, /* it existed when the session ended, or began */
	BP_DOTNET_ENTRY_POINT,	  /* of a precompiled method; its size is not told */
	BP_DOTNET_MODULE,
	BP_DOTNET_PROCESS_INFO,
	BP_DOTNET_GC_START,   /* a garbage collection begins */
	BP_DOTNET_GC_END,     /* and ends: GCHeapStats follows on the same thread */
	BP_DOTNET_HEAP_STATS, /* GCHeapStats: sizes of the generations after a collection */
	BP_DOTNET_GC_DYNAMIC  /* an event of the collector with a name: CommittedUsage is one */
};

/* What the events of a kind are; `kind` may be NULL. */
enum bp_dotnet_event bp_dotnet_event_of(const struct bp_nettrace_kind *kind);

/* Where the object went. */
enum bp_dotnet_heap { BP_DOTNET_SMALL = 0, BP_DOTNET_LARGE = 1, BP_DOTNET_PINNED = 2 };

struct bp_dotnet_sample {
	uint32_t heap; /* enum bp_dotnet_heap, or what a later runtime adds */
	uint64_t type, address;
	uint64_t size; /* bytes, as the heap gives them: aligned up to the pointer size */
	uint64_t
		offset; /* of the successful byte, in the object; >= size: the event is not valid */
	char name[BP_DOTNET_NAME_BYTES];
};
/* False: the payload is too short. */
bool bp_dotnet_read_sample(
	struct bp_bytes payload, uint32_t pointer_bytes, struct bp_dotnet_sample *ret_sample);

struct bp_dotnet_method {
	uint64_t method, module;
	uint64_t start, bytes;		 /* of its code; bytes 0: not told */
	char name[BP_DOTNET_NAME_BYTES]; /* type and method: N.Type.Method */
};
/* Its place alone, `start` and `bytes`: names take long. */
bool bp_dotnet_read_place(struct bp_bytes payload, struct bp_dotnet_method *ret_method);
bool bp_dotnet_read_method(struct bp_bytes payload, struct bp_dotnet_method *ret_method);
bool bp_dotnet_read_entry_point(struct bp_bytes payload, struct bp_dotnet_method *ret_method);

struct bp_dotnet_module {
	uint64_t module;
	char path[BP_DOTNET_NAME_BYTES]; /* of the assembly */
};
bool bp_dotnet_read_module(struct bp_bytes payload, struct bp_dotnet_module *ret_module);

/* The command line, from the first event of a file. */
bool bp_dotnet_read_process_info(struct bp_bytes payload, char *to, size_t capacity);

/* The figures of GCHeapStats that are sizes. */
enum bp_dotnet_generation {
	BP_DOTNET_GENERATION_0,
	BP_DOTNET_GENERATION_1,
	BP_DOTNET_GENERATION_2,
	BP_DOTNET_GENERATION_LARGE,
	BP_DOTNET_GENERATION_PINNED,
	BP_DOTNET_GENERATIONS
};
/* Bytes after a collection: objects, and the holes between them that are not given back. */
struct bp_dotnet_heap_stats {
	uint64_t generations[BP_DOTNET_GENERATIONS];
	bool has_pinned; /* since .NET 5 */
};
/* `version`: of the event, 0 to 2. False: another version, too short, or a figure that no address
 * space has room for. */
bool bp_dotnet_read_heap_stats(
	struct bp_bytes payload, uint32_t version, struct bp_dotnet_heap_stats *ret_stats);

/* What the collector has committed, bytes (CommittedUsage, since .NET 8). */
struct bp_dotnet_committed {
	uint64_t in_use;      /* by the regions of all generations, their unused ends included */
	uint64_t decommit;    /* by free regions that the collector will give back soon */
	uint64_t free;	      /* by free regions that belong to a heap (server GC has several) */
	uint64_t global_free; /* by free regions that belong to no heap */
	uint64_t bookkeeping; /* by tables of the collector's own */
};
/* False: the event has another name or version, is too short, or has a figure that no address space
 * has room for. */
bool bp_dotnet_read_committed(struct bp_bytes payload, struct bp_dotnet_committed *ret_committed);

/* The name of a type as C# would write it: Pair`2[System.Int32,System.Int64] becomes
 * Pair<System.Int32, System.Int64>; arrays stay. "NULL" (what NativeAOT writes) and "" become "type
 * 0x...". `to` is terminated and holds `capacity` >= 32 bytes. */
void bp_dotnet_type_name(const char *name, uint64_t type, char *to, size_t capacity);

#endif
