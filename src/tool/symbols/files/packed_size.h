/* SPDX-License-Identifier: MIT */
/*
 * How large the debug sections of an ELF file become when they are unpacked, from what the file
 * says of them. Asked before anything unpacks them.
 */
#ifndef BP_SYMBOLS_FILES_PACKED_SIZE_H
#define BP_SYMBOLS_FILES_PACKED_SIZE_H

#include <stdbool.h>
#include <libelf.h>

/* False: its packed sections would take more than 1 GiB, or more than 64 times what they take in
 * the file and 16 MiB. Real debug information becomes 3 to 10 times as large; a file made to
 * exhaust memory 1000 times. */
bool bp_packed_size_is_bounded(Elf *elf);

#endif
