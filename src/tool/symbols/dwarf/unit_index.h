/* SPDX-License-Identifier: MIT */
/*
 * Which compilation unit holds an address: our own index, because clang writes no .debug_aranges
 * and libdw's look-ups by address then answer nothing.
 */
#ifndef BP_SYMBOLS_DWARF_UNIT_INDEX_H
#define BP_SYMBOLS_DWARF_UNIT_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "symbols/dwarf/code_sections.h"
#include "symbols/dwarf/dwarf_package.h"

struct bp_unit {
	Dwarf_CU *cu;
	Dwarf_Die die; /* of the unit itself: its skeleton where the DWARF is split */
};

struct bp_unit_range {
	uint64_t low, high;
	uint64_t reach; /* largest `high` of this and all earlier ranges */
	uint32_t unit;
};

struct bp_unit_index {
	struct bp_unit *units;
	struct bp_unit_range *ranges; /* by `low` */
	uint32_t unit_count, unit_capacity;
	uint32_t range_count, range_capacity;
};

/* Reads all units; stops without an error at the first damaged one. False only without memory.
 * `dwarf` and `sections` outlive the call, `dwarf` also the index. */
bool bp_unit_index_init(
	struct bp_unit_index *index, Dwarf *dwarf, const struct bp_code_sections *sections);
void bp_unit_index_finish(struct bp_unit_index *index);

/* The unit whose range around the address is the narrowest in start. */
const struct bp_unit *bp_unit_index_find(const struct bp_unit_index *index, uint64_t address);

/* The root of the unit's tree: the split unit's where there is one and it is found, in the package
 * or in its file, else the unit's own. */
Dwarf_Die bp_unit_tree(const struct bp_unit *unit, const struct bp_dwarf_package *package);

/* Is it a skeleton whose split unit is not to be found? Then most is unknown, but may be known
 * another time. To be asked after bp_unit_tree. */
bool bp_unit_lacks_split(const struct bp_unit *unit);

#endif
