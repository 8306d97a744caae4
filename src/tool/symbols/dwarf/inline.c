/* SPDX-License-Identifier: MIT */
/*
 * Scopes of addresses. libdw's own dwarf_getscopes walks the unit once per address and, for an
 * inlined function, goes on in its abstract origin, so that the callers are lost. Here the concrete
 * tree is walked once for all addresses of the unit: an entry with ranges claims every address in
 * them, children after their parents, so that what remains is the innermost one, and the caller of
 * an inlined call is simply the scope it was found in.
 *
 * Two passes. The first stays out of functions that hold none of the addresses and out of types,
 * which is most of a tree. Concrete functions may stand inside those all the same (the operator()
 * of a lambda in its class in an abstract function): a second pass goes everywhere for the
 * addresses that are left.
 *
 * The tree may be hostile: offsets must ascend from entry to entry (so no entry is seen twice and
 * the walk is linear), the depth is bounded, and so are the ranges that are read.
 */
#include "symbols/dwarf/inline.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "base/vec.h"

/* The deepest trees of real programs have some 100 levels. */
#define DEPTH_MAX 1000u
/* Ranges of one entry, and of all entries of one walk. */
#define ENTRY_RANGES_MAX 65536u
#define WALK_RANGES_MAX (1u << 26)

struct walk {
	struct bp_scope_table *table;
	const struct bp_code_sections *sections;
	const uint64_t *addresses;
	uint32_t *scope_of;
	uint32_t count;
	uint32_t ranges_read;
	Dwarf_Off last_offset;
	bool everywhere; /* second pass: addresses that have a scope are left alone */
	bool out_of_memory;
	uint32_t pass_start; /* scopes from here on were found in this pass */
};

static void visit_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, uint32_t depth);

static uint32_t append_scope(struct walk *walk, const Dwarf_Die *die, uint32_t caller)
{
	struct bp_scope_table *table = walk->table;
	if (!bp_vec_reserve(
		    &table->data, &table->capacity, table->count + 1u, sizeof *table->data)) {
		walk->out_of_memory = true;
		return BP_SCOPE_NONE;
	}
	table->data[table->count] = (struct bp_scope){ .die = *die, .caller = caller };
	return table->count++;
}

/* Gives the addresses in [low, high) to `*scope`, which is appended at the first of them. */
static void claim(struct walk *walk, Dwarf_Die *die, uint32_t caller, uint64_t low, uint64_t high,
	uint32_t *scope)
{
	uint32_t i = bp_sorted_below(walk->addresses, sizeof *walk->addresses, walk->count, low);
	if (i == walk->count || walk->addresses[i] >= high)
		return;
	if (bp_code_sections_find(walk->sections, low) == NULL)
		return; /* a discarded function */
	for (; i < walk->count && walk->addresses[i] < high; i++) {
		uint32_t known = walk->scope_of[i];
		if (walk->everywhere && known != BP_SCOPE_NONE && known < walk->pass_start)
			continue;
		if (*scope == BP_SCOPE_NONE)
			*scope = append_scope(walk, die, caller);
		if (walk->out_of_memory)
			return;
		walk->scope_of[i] = *scope;
	}
}

/* Claims what the entry's ranges hold; `*ret_ranges` tells how many ranges it has. */
static uint32_t claim_ranges(
	struct walk *walk, Dwarf_Die *die, uint32_t caller, uint32_t *ret_ranges)
{
	Dwarf_Addr base = 0, low = 0, high = 0;
	ptrdiff_t position = 0;
	uint32_t scope = BP_SCOPE_NONE, ranges = 0;
	while (ranges < ENTRY_RANGES_MAX && walk->ranges_read < WALK_RANGES_MAX) {
		position = dwarf_ranges(die, position, &base, &low, &high);
		if (position <= 0)
			break;
		ranges++;
		walk->ranges_read++;
		if (low < high)
			claim(walk, die, caller, low, high, &scope);
	}
	*ret_ranges = ranges;
	return scope;
}

static void visit_function(struct walk *walk, Dwarf_Die *die, uint32_t depth)
{
	uint32_t ranges = 0;
	uint32_t scope = claim_ranges(walk, die, BP_SCOPE_NONE, &ranges);
	if (scope != BP_SCOPE_NONE || walk->everywhere)
		visit_children(walk, die, scope, depth);
}

static void visit_inlined(struct walk *walk, Dwarf_Die *die, uint32_t caller, uint32_t depth)
{
	uint32_t ranges = 0, scope = BP_SCOPE_NONE;
	if (caller != BP_SCOPE_NONE)
		scope = claim_ranges(walk, die, caller, &ranges);
	/* Without ranges of its own it says nothing: what is inside belongs to the caller. */
	visit_children(walk, die, scope != BP_SCOPE_NONE || ranges > 0 ? scope : caller, depth);
}

static void visit(struct walk *walk, Dwarf_Die *die, uint32_t scope, uint32_t depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		visit_function(walk, die, depth);
		break;
	case DW_TAG_inlined_subroutine:
		visit_inlined(walk, die, scope, depth);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		visit_children(walk, die, scope, depth);
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		if (walk->everywhere)
			visit_children(walk, die, BP_SCOPE_NONE, depth);
		break;
	default:
		break;
	}
}

static void visit_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, uint32_t depth)
{
	Dwarf_Die child;
	if (depth >= DEPTH_MAX || walk->out_of_memory)
		return;
	if (dwarf_haschildren(parent) <= 0 || dwarf_child(parent, &child) != 0)
		return;
	do {
		Dwarf_Off offset = dwarf_dieoffset(&child);
		if (offset <= walk->last_offset || offset == (Dwarf_Off)-1)
			return;
		walk->last_offset = offset;
		visit(walk, &child, scope, depth + 1);
	} while (!walk->out_of_memory && dwarf_siblingof(&child, &child) == 0);
}

static void name_scope(struct bp_scope *scope)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	if (dwarf_attr_integrate(&scope->die, DW_AT_linkage_name, &attribute) != NULL ||
		dwarf_attr_integrate(&scope->die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
		name = dwarf_formstring(&attribute);
	scope->linkage = name != NULL && name[0] != '\0';
	if (!scope->linkage && dwarf_attr_integrate(&scope->die, DW_AT_name, &attribute) != NULL)
		name = dwarf_formstring(&attribute);
	scope->system_name = name != NULL ? name : "";
}

static void empty(struct bp_scope_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		free(table->data[i].display_name);
	table->count = 0;
}

bool bp_scopes_find(struct bp_scope_table *table, Dwarf_Die *root, const uint64_t *addresses,
	uint32_t count, const struct bp_code_sections *sections, uint32_t *scope_of)
{
	struct walk walk = {
		.table = table,
		.sections = sections,
		.addresses = addresses,
		.scope_of = scope_of,
		.count = count,
	};
	uint32_t left = 0;
	empty(table);
	for (uint32_t i = 0; i < count; i++)
		scope_of[i] = BP_SCOPE_NONE;
	visit_children(&walk, root, BP_SCOPE_NONE, 0);
	for (uint32_t i = 0; i < count; i++)
		left += scope_of[i] == BP_SCOPE_NONE;
	if (left > 0) {
		walk.everywhere = true;
		walk.pass_start = table->count;
		walk.last_offset = 0;
		visit_children(&walk, root, BP_SCOPE_NONE, 0);
	}
	for (uint32_t i = 0; i < table->count; i++)
		name_scope(&table->data[i]);
	return !walk.out_of_memory;
}

void bp_scope_table_finish(struct bp_scope_table *table)
{
	empty(table);
	free(table->data);
	*table = (struct bp_scope_table){ 0 };
}

void bp_scope_call_site(
	struct bp_scope *scope, Dwarf_Die *root, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0;
	Dwarf_Files *files = NULL;
	size_t file_count = 0;
	const char *file = NULL;
	*ret_file = "";
	*ret_line = 0;
	if (dwarf_attr(&scope->die, DW_AT_call_line, &attribute) != NULL &&
		dwarf_formudata(&attribute, &number) == 0 && number <= UINT32_MAX)
		*ret_line = (uint32_t)number;
	if (dwarf_attr(&scope->die, DW_AT_call_file, &attribute) == NULL ||
		dwarf_formudata(&attribute, &number) != 0)
		return;
	if (dwarf_getsrcfiles(root, &files, &file_count) != 0 || number >= file_count)
		return;
	file = dwarf_filesrc(files, number, NULL, NULL);
	if (file != NULL)
		*ret_file = file;
}
