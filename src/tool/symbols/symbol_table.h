/* SPDX-License-Identifier: MIT */
/*
 * Function symbols of an ELF file by address. A name is given only where a symbol's extent covers
 * the address: the nearest symbol before it is, in a stripped library, a confidently wrong name.
 */
#ifndef BP_SYMBOLS_SYMBOL_TABLE_H
#define BP_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <libelf.h>

#include "symbols/dwarf/code_sections.h"

struct bp_symbol {
	uint64_t low, high; /* high == low: of no stated size */
	uint64_t reach;	    /* largest `high` of this and all earlier symbols */
	const char *name;   /* owned by libelf */
	uint32_t section;
	uint8_t binding, type;
};

struct bp_symbol_table {
	struct bp_symbol *data; /* by address */
	uint32_t count, capacity;
	bool full;	 /* from .symtab, not only the exported names */
	bool open_ended; /* symbols without a size may be used */
	const struct bp_code_sections *sections;
};

/* Reads .symtab, or .dynsym where there is none. An unreadable table is empty. False only without
 * memory. `elf` and `sections` outlive the table. */
bool bp_symbol_table_init(
	struct bp_symbol_table *table, Elf *elf, const struct bp_code_sections *sections);
void bp_symbol_table_finish(struct bp_symbol_table *table);

/* The function at the address, or NULL. */
const struct bp_symbol *bp_symbol_table_find(const struct bp_symbol_table *table, uint64_t address);

#endif
