/* SPDX-License-Identifier: MIT */
/* Heaps beside malloc (model/gaps/own_heap.h) that the contents of a program's file tell of, for
 * doctor and for whatever shows a recording. */
#ifndef BP_CLI_PROCESS_OWN_HEAPS_H
#define BP_CLI_PROCESS_OWN_HEAPS_H

#include "cli/process/elf_file.h"
#include "resident/explained.h"

/* What the file, of a program at `path`, tells. */
bp_own_heaps bp_own_heaps_of_elf(const struct bp_elf_file *file, const char *path);

/* The name by which the program calls an allocator that is linked into it; NULL: none that is
 * known. */
const char *bp_own_heap_function(const struct bp_elf_file *file);

/* All that is known of process `pid` of a profile (0: of all): by the names of its files, and by
 * the contents of the program that it, or the latest, became, if that is still there. */
bp_own_heaps bp_own_heaps_of_process(const struct bp_profile *profile, uint32_t pid);

/* bp_explain, with the heaps of the process where malloc explains little. `resident` NULL: not
 * known. False: nothing is known, and `*ret_explained` is zeroed. */
bool bp_explain_process(const struct bp_aggregation *aggregation,
	const struct bp_resident *resident, struct bp_explained *ret_explained);

#endif
