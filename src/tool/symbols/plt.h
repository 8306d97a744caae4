/* SPDX-License-Identifier: MIT */
/*
 * Names for the linkage stubs of a dynamically linked file: which function does the stub jump to?
 */
#ifndef BP_SYMBOLS_PLT_H
#define BP_SYMBOLS_PLT_H

#include <stdint.h>
#include <libelf.h>

/* The name of the function that the stub at the address jumps to (owned by libelf), or NULL: no
 * stub, or not understood (only x86-64 is). `elf` is the module's own file, not its debug file. */
const char *bp_plt_find(Elf *elf, uint64_t address);

#endif
