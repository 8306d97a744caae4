/* SPDX-License-Identifier: MIT */
/*
 * Where the code of an ELF file is. Debug information and symbols also describe functions the
 * linker threw away, with addresses near zero (or near the top); whatever does not start in a
 * section with code is such a ghost and must never name an address.
 */
#ifndef BP_SYMBOLS_DWARF_CODE_SECTIONS_H
#define BP_SYMBOLS_DWARF_CODE_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <libelf.h>

struct bp_code_section {
	uint64_t low, high; /* addresses in the file */
	uint32_t section;   /* its index in the file */
};

struct bp_code_sections {
	struct bp_code_section *data; /* by address */
	uint32_t count, capacity;
};

/* Reads the section table; false only without memory. Finish in any case. */
bool bp_code_sections_init(struct bp_code_sections *sections, Elf *elf);
void bp_code_sections_finish(struct bp_code_sections *sections);

/* The section that holds the address, or NULL. */
const struct bp_code_section *bp_code_sections_find(
	const struct bp_code_sections *sections, uint64_t address);

#endif
