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
	BP_DOTNET_PROCESS_INFO
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

/* The name of a type as C# would write it: Pair`2[System.Int32,System.Int64] becomes
 * Pair<System.Int32, System.Int64>; arrays stay. "NULL" (what NativeAOT writes) and "" become "type
 * 0x...". `to` is terminated and holds `capacity` >= 32 bytes. */
void bp_dotnet_type_name(const char *name, uint64_t type, char *to, size_t capacity);

#endif
