/* SPDX-License-Identifier: MIT */
/*
 * Split units for libdw from a DWARF package, where libdw itself looks for a .dwo only. Called by
 * unit_index.c.
 */
#ifndef BP_SYMBOLS_DWARF_SPLIT_UNIT_H
#define BP_SYMBOLS_DWARF_SPLIT_UNIT_H

#include <elfutils/libdw.h>

#include "symbols/dwarf/dwarf_package.h"

/* Has libdw take the split unit of this skeleton from the package, if the package has it. To be
 * called before libdw is asked for the split unit, for it looks once. Of other units, and of units
 * that the package does not have, nothing changes. The package may go afterwards. Not thread-safe:
 * as its Dwarf. */
void bp_split_unit_attach(const struct bp_dwarf_package *package, Dwarf_CU *cu, Dwarf_Die *die);

#endif
