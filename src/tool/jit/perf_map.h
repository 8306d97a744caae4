/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map, which runtimes write for perf: a line "START SIZE NAME" for each piece of
 * code, the numbers in hexadecimal digits, with or without 0x. It does not say since when.
 */
#ifndef BP_JIT_PERF_MAP_H
#define BP_JIT_PERF_MAP_H

#include <stdio.h>

#include "jit/jit_names.h"

/* Adds what it names. Lines of another form are left out, and what stands beyond a million lines.
 * False: no memory. */
bool bp_perf_map_read(FILE *in, struct bp_jit_names *names, struct bp_error *error);

#endif
