/* SPDX-License-Identifier: MIT */
/*
 * A table that gives each stack a small number and writes it to the trace once. Stacks with the
 * same hash are compared frame by frame. Thread-safe; a stack that is in the table is found without
 * a lock.
 */
#ifndef BP_UNWIND_STACK_TABLE_H
#define BP_UNWIND_STACK_TABLE_H

#include <stdint.h>

#include "unwind/stack.h"

struct bp_writer;

/* Returns the id (>= 1) of the captured stack; 0: the table is full, which is counted as a loss. */
uint32_t bp_stack_table_id(struct bp_writer *writer, const struct bp_stack_capture *capture);

/* Stacks with a pc in [start, end) are not found any more, because another module may be mapped
 * there. */
void bp_stack_table_forget(uintptr_t start, uintptr_t end);

/* Called in a child of fork: its new trace has no stack yet. */
void bp_stack_table_after_fork(void);

#endif
