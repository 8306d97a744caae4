/* SPDX-License-Identifier: MIT */
/*
 * Source lines of addresses, from the line number program of a compilation unit (DWARF 2 to 5,
 * section 6.2 of the standards). libdw has this too, but sorts the rows of all sequences into one
 * table: functions the linker discarded, whose sequences begin at address 0, then lie among the
 * code at the start of a position-independent file and give it their lines.
 */
#ifndef BP_SYMBOLS_DWARF_LINE_PROGRAM_H
#define BP_SYMBOLS_DWARF_LINE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "symbols/dwarf/code_sections.h"

struct bp_line_section {
	const uint8_t *data; /* owned by libelf; NULL: none that can be read */
	uint64_t bytes;
};

struct bp_line {
	bool known;
	uint32_t line; /* 0: the compiler says it stems from none */
	uint64_t file; /* as dwarf_filesrc counts */
};

/* Finds .debug_line; packed ones have been unpacked by dwarf_begin_elf. */
struct bp_line_section bp_line_section_of(Dwarf *dwarf);

/* Runs the program the unit names and sets lines[i] to what it says of addresses[i] (ascending,
 * `count` of them), or to not known. A damaged program counts as far as it can be read. */
void bp_lines_find(const struct bp_line_section *section, Dwarf_Die *unit,
	const uint64_t *addresses, uint32_t count, const struct bp_code_sections *sections,
	struct bp_line *lines);

#endif
