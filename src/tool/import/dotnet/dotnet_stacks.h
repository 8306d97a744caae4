/* SPDX-License-Identifier: MIT */
/*
 * Stacks of a .nettrace file: its ids are used again after each sequence point, so stacks are kept
 * by content, each once, until all methods are known.
 *
 *	[number n >= 1: entries[n - 1]; its addresses are pcs[first .. first + depth)]
 *
 * Zeroed memory is an empty, valid value. Thread-safety: belongs to its caller.
 */
#ifndef BP_IMPORT_DOTNET_DOTNET_STACKS_H
#define BP_IMPORT_DOTNET_DOTNET_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

struct bp_dotnet_stack {
	uint64_t hash; /* of the content; 64 bits are taken for the content itself */
	uint64_t first;
	uint32_t depth;
};

struct bp_dotnet_stack_id {
	uint64_t id; /* 64 bits wide for base/index.h */
	uint32_t number;
};

struct bp_dotnet_stacks {
	struct bp_dotnet_stack *entries;
	struct bp_index by_hash;
	uint32_t count, capacity;
	uint64_t *pcs;
	uint64_t pc_count, pc_capacity;
	struct bp_dotnet_stack_id *ids; /* in force until the next flush */
	struct bp_index by_id;
	uint32_t id_count, id_capacity;
	uint64_t *sorted; /* all addresses, each once, after bp_dotnet_stacks_sort */
	uint64_t sorted_count;
};

/* The stack of an id from now on. `pcs`: `count` addresses of `pointer_bytes` each. False: no
 * memory. */
bool bp_dotnet_stacks_add(struct bp_dotnet_stacks *stacks, uint32_t id, const uint8_t *pcs,
	uint32_t count, uint32_t pointer_bytes);

/* Its number; 0: the id is not known, or has no frames. */
uint32_t bp_dotnet_stacks_find(const struct bp_dotnet_stacks *stacks, uint32_t id);

/* After the last stack: makes ready for bp_dotnet_stacks_in. False: no memory. */
bool bp_dotnet_stacks_sort(struct bp_dotnet_stacks *stacks);

/* Is an address of any stack in [start, end]? (End included: a return address may be there.) */
bool bp_dotnet_stacks_in(const struct bp_dotnet_stacks *stacks, uint64_t start, uint64_t end);

void bp_dotnet_stacks_flush(struct bp_dotnet_stacks *stacks);
void bp_dotnet_stacks_finish(struct bp_dotnet_stacks *stacks);

#endif
