/* SPDX-License-Identifier: MIT */
/*
 * A table that gives each stack a small number and writes it to the trace once. Stacks with the
 * same hash are compared frame by frame. Its index grows with the number of stacks. Thread-safe; no
 * lock is taken.
 */
#ifndef BP_UNWIND_STACK_TABLE_H
#define BP_UNWIND_STACK_TABLE_H

#include <stdint.h>

#include "unwind/stack.h"

struct bp_writer;

/* The most memory of the table: a stack of 28 frames takes some 300 bytes. */
#define BP_STACK_TABLE_MAX_BYTES ((uint64_t)256 << 20)

/* What the table takes now, at most BP_STACK_TABLE_MAX_BYTES. */
uint64_t bp_stack_table_bytes(void);

/* Returns the id (>= 1) of the captured stack; 0: the table is full, which is counted as a loss. */
uint32_t bp_stack_table_id(struct bp_writer *writer, const struct bp_stack_capture *capture);

/* Returns a number that no stack has: for one that is made of others (python/mixed_stack.h). */
uint32_t bp_stack_table_next_id(void);

/* Stacks with a pc in [start, end) are not found any more, because another module may be mapped
 * there. */
void bp_stack_table_forget(uintptr_t start, uintptr_t end);

/* Called in a child of fork: its new trace has no stack yet. */
void bp_stack_table_after_fork(void);

#endif
