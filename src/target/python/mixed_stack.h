/* SPDX-License-Identifier: MIT */
/*
 * A table that gives each pair of a native stack and the Python frames in it a small number, of the
 * same numbers as those of stacks (unwind/stack_table.h), and writes it to the trace once (MIXED
 * STACK). Its memory is bounded. Thread-safe; no lock is taken but that of frame_names.h.
 */
#ifndef BP_PYTHON_MIXED_STACK_H
#define BP_PYTHON_MIXED_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "python/frames.h"

struct bp_writer;

/* The most memory of the table. */
#define BP_MIXED_STACK_MAX_BYTES ((uint64_t)128 << 20)

/* Returns the id of the captured stack, with the Python frames that the calling thread has at
 * this moment; without them if it has none, or there is no memory. `walk`: the thread's own,
 * made here if it is NULL. 0: there is no room, which is counted as a loss. Called within a
 * visit. */
uint32_t bp_mixed_stack_id(struct bp_writer *writer, const struct bp_stack_capture *native,
	struct bp_python_walk **walk, bool holds_gil);

/* Called in a child of fork: its new trace has no stack yet. */
void bp_mixed_stack_after_fork(void);

#endif
