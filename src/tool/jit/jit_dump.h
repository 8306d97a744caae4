/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump, which runtimes and agents write for `perf inject --jit`: records of code that was
 * made and moved, each with its time (perf's document "jitdump specification", version 1). What is
 * read are addresses, times and names; the code itself and the lines are skipped.
 */
#ifndef BP_JIT_JIT_DUMP_H
#define BP_JIT_JIT_DUMP_H

#include <stdio.h>

#include "jit/jit_names.h"

/* Adds what a dump of process `pid` names; of one that is torn what stands before. A file that is
 * no such dump, of another process or machine, or begun before `from_ns` (CLOCK_MONOTONIC), adds
 * nothing. False: no memory. */
bool bp_jit_dump_read(FILE *in, uint32_t pid, uint64_t from_ns, struct bp_jit_names *names,
	struct bp_error *error);

#endif
