/* SPDX-License-Identifier: MIT */
/*
 * Which method's code an address was in at a moment. The runtime compiles methods again (tiers),
 * frees their code and uses the place for others; so code has a life: from its load, or from the
 * beginning where only the rundown tells of it, to its unload, or to the end. Entry points of
 * precompiled methods come without a size: they answer for what lies behind them and before the
 * next, if nothing else does.
 *
 *	[after bp_dotnet_methods_sort the entries are in order of start; code of one moment does not overlap]
 *
 * Memory: some 60 bytes a method, and its name in the profile. Thread-safety: belongs to its
 * caller.
 */
#ifndef BP_IMPORT_DOTNET_DOTNET_METHODS_H
#define BP_IMPORT_DOTNET_DOTNET_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BP_DOTNET_NO_METHOD UINT32_MAX
/* Precompiled code this far behind an entry point is not its. */
#define BP_DOTNET_ENTRY_REACH_BYTES 65536u

struct bp_dotnet_code {
	uint64_t start, end;	   /* end == start: an entry point */
	uint64_t loaded, unloaded; /* times; 0 and UINT64_MAX: not told */
	uint64_t method, module;   /* ids of the runtime */
	uint32_t name;		   /* string of the profile */
	uint32_t order;		   /* of arrival */
};

struct bp_dotnet_methods {
	struct bp_dotnet_code *codes;
	uint64_t *ends; /* the largest end up to each entry */
	uint32_t count, capacity, ends_capacity;
};

/* Adds code; unloading is an entry that bp_dotnet_methods_sort joins to its load. False: no
 * memory. */
bool bp_dotnet_methods_add(struct bp_dotnet_methods *methods, const struct bp_dotnet_code *code);
bool bp_dotnet_methods_unload(struct bp_dotnet_methods *methods, const struct bp_dotnet_code *code);

/* After the last one: makes ready for finding. False: no memory. */
bool bp_dotnet_methods_sort(struct bp_dotnet_methods *methods);

/* The entry whose code `address` was in at `time`; BP_DOTNET_NO_METHOD: none. `ret_depends`: at
 * another time it might have been another. */
uint32_t bp_dotnet_methods_find(const struct bp_dotnet_methods *methods, uint64_t address,
	uint64_t time, bool *ret_depends);

void bp_dotnet_methods_finish(struct bp_dotnet_methods *methods);

#endif
