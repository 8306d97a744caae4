/* SPDX-License-Identifier: MIT */
/*
 * A look at what the mappings of a process hold, from outside, while it runs: its smaps in groups,
 * and a walk of glibc's heap. The program is never stopped. Not thread-safe.
 */
#ifndef BP_CLI_MAPPINGS_LOOK_H
#define BP_CLI_MAPPINGS_LOOK_H

#include <sys/types.h>

#include "resident/mappings.h"
#include "resident/pages/pages.h"

/* `trace`: the path of the process's recording, whose mapping is the recorder's. `most_ns`: so long
 * the heap may be walked, and as long its pages be looked at; what takes longer is not known.
 * `ret_pages`: empty where its pages are not known. False: the process
 * has ended or may not be looked at. */
bool bp_mappings_look(pid_t pid, const char *trace, uint64_t most_ns,
	struct bp_mapping_cut *ret_cut, struct bp_pages *ret_pages);

#endif
