/* SPDX-License-Identifier: MIT */
/*
 * The runtime's figures of its memory, at the end of a Go heap profile in its text form: lines
 * `# HeapAlloc = 118556696` and `# Stack = 294912 / 294912` of runtime.MemStats, all in bytes, and
 * MaxRSS of getrusage. Called by go_text.c. Zeroed memory: no line was read yet.
 */
#ifndef BP_IMPORT_PPROF_GO_MEM_STATS_H
#define BP_IMPORT_PPROF_GO_MEM_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "import/pprof/go_text_lines.h"
#include "model/profile.h"

/* X(NAME, WHICH): the line `# NAME = `, of which number WHICH (from 1 on) is taken. */
/* clang-format off */
#define BP_GO_MEM_STATS(X) \
	X(HeapAlloc, 1) \
	X(HeapInuse, 1) \
	X(HeapIdle, 1) \
	X(HeapReleased, 1) \
	X(Stack, 2) \
	X(MSpan, 2) \
	X(MCache, 2) \
	X(BuckHashSys, 1) \
	X(GCSys, 1) \
	X(OtherSys, 1) \
	X(Sys, 1) \
	X(MaxRSS, 1) \
	X(LastGC, 1)
/* clang-format on */

#define BP_GO_MEM_STATS_FIGURE(name, which) BP_GO_##name,
enum bp_go_mem_stats_figure { BP_GO_MEM_STATS(BP_GO_MEM_STATS_FIGURE) BP_GO_MEM_STATS_COUNT };
#undef BP_GO_MEM_STATS_FIGURE

struct bp_go_mem_stats {
	uint64_t figures[BP_GO_MEM_STATS_COUNT];
	bool known[BP_GO_MEM_STATS_COUNT];
};

/* Takes one line; those that tell nothing of these are passed over. */
void bp_go_mem_stats_read(struct bp_go_mem_stats *stats, struct bp_go_text line);

/* Adds the parts of the runtime's memory to a process, and its runtime's name. Nothing is added
 * where a figure is missing that others are made from, or where figures contradict each other.
 * False: no memory. */
bool bp_go_mem_stats_add(const struct bp_go_mem_stats *stats, struct bp_profile *profile,
	struct bp_process_id process, struct bp_error *error);

#endif
