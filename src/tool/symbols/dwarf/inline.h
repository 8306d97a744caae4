/* SPDX-License-Identifier: MIT */
/*
 * Functions and inlined calls around addresses, from the concrete tree of one compilation unit: the
 * chain from the innermost inlined call out to the function that really stands at the address.
 */
#ifndef BP_SYMBOLS_DWARF_INLINE_H
#define BP_SYMBOLS_DWARF_INLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "symbols/dwarf/code_sections.h"

#define BP_SCOPE_NONE UINT32_MAX

/* A function or an inlined call that holds at least one of the addresses asked for. */
struct bp_scope {
	Dwarf_Die die;
	uint32_t caller;	 /* scope this call was inlined into; BP_SCOPE_NONE: a function */
	const char *system_name; /* linkage name, else plain name; "" none; owned by libdw */
	bool linkage;		 /* system_name is a linkage name */
	char *display_name;	 /* set by whoever shows it first; freed with the table */
};

struct bp_scope_table {
	struct bp_scope *data;
	uint32_t count, capacity;
};

/* Walks the tree below `root` and sets scope_of[i] to the innermost scope that holds addresses[i]
 * (ascending, `count` of them) or to BP_SCOPE_NONE. `table` is zeroed or was used before; it is
 * emptied first. False only without memory. */
bool bp_scopes_find(struct bp_scope_table *table, Dwarf_Die *root, const uint64_t *addresses,
	uint32_t count, const struct bp_code_sections *sections, uint32_t *scope_of);
void bp_scope_table_finish(struct bp_scope_table *table);

/* Where the inlined call stands in its caller: line (0 unknown) and file ("" unknown). `root` as
 * given to bp_scopes_find. */
void bp_scope_call_site(
	struct bp_scope *scope, Dwarf_Die *root, const char **ret_file, uint32_t *ret_line);

#endif
