/* SPDX-License-Identifier: MIT */
/*
 * A copy of an ELF file in memory whose debug sections are plain: for debug information packed by
 * zstd, which elfutils before 0.192 (and those built without libzstd) cannot read.
 */
#ifndef BP_SYMBOLS_FILES_UNPACKED_ELF_H
#define BP_SYMBOLS_FILES_UNPACKED_ELF_H

#include <stdbool.h>
#include <libelf.h>

struct bp_unpacked_elf {
	Elf *elf; /* NULL: none */
	char *image;
};

/* Makes the copy; false where that is not possible: not a 64-bit little-endian file, damaged, too
 * large, out of memory, built without libzstd. Finish in any case; `elf` may be closed before. */
bool bp_unpacked_elf_init(struct bp_unpacked_elf *unpacked, Elf *elf);
void bp_unpacked_elf_finish(struct bp_unpacked_elf *unpacked);

#endif
