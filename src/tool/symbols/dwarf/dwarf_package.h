/* SPDX-License-Identifier: MIT */
/*
 * DWARF packages (PROGRAM.dwp): the split units (.dwo) of a program in one file, with an index from
 * a unit's id to its parts (DWARF 5, 7.3.5; its forerunner for DWARF 4 is
 * https://gcc.gnu.org/wiki/DebugFissionDWP). Here a unit is taken out again, as the .dwo that it
 * was. Called by split_unit.c and module_file.c. Nothing is changed after opening: thread-safe.
 *
 * elfutils reads packages by itself since 0.191. It opens one only at the name of the file that it
 * reads, with .dwp behind it, and unpacks compressed sections of any size. This reader stays for
 * Debian 12, for packages below --debug-directory, and for the bound on what is unpacked.
 */
#ifndef BP_SYMBOLS_DWARF_DWARF_PACKAGE_H
#define BP_SYMBOLS_DWARF_DWARF_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include "base/bytes.h"

/* What of a unit is needed for names and lines: no locations, no macros. */
enum bp_package_part {
	BP_PACKAGE_INFO,
	BP_PACKAGE_ABBREV,
	BP_PACKAGE_LINE,
	BP_PACKAGE_STRING_OFFSETS,
	BP_PACKAGE_RANGES,
	BP_PACKAGE_STRINGS, /* shared by all units */
	BP_PACKAGE_PARTS
};

/* Zeroed: no package. */
struct bp_dwarf_package {
	struct bp_bytes parts[BP_PACKAGE_PARTS]; /* whole sections, owned by the Elf */
	Elf64_Ehdr header;			 /* of the file */
	uint32_t version;			 /* 5, or 2 with DWARF 4; 0: no package */
	uint32_t columns, units, slots;
	/* Tables of the index, little endian, not aligned. */
	const uint8_t *signatures, *rows, *kinds, *offsets, *sizes;
};

/* Reads the index. False: not a package that can be read; `package` is zeroed then. `elf` must stay
 * open. */
bool bp_dwarf_package_init(struct bp_dwarf_package *package, Elf *elf);

/* The unit of that id as an ELF file of its own, to be freed. False: it is not in there, its parts
 * are damaged, or out of memory. */
bool bp_dwarf_package_unit(
	const struct bp_dwarf_package *package, uint64_t id, char **ret_image, size_t *ret_bytes);

#endif
