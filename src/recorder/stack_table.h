/* SPDX-License-Identifier: MIT */
/*
 * Stacks to small numbers, each written to the trace once. Stacks that collide in the hash are
 * compared frame by frame, never trusted. Thread-safe, lock-free on a hit.
 */
#ifndef BP_RECORDER_STACK_TABLE_H
#define BP_RECORDER_STACK_TABLE_H

#include <stdint.h>

#include "recorder/stack.h"

struct bp_writer;

/* The id (>= 1) of the captured stack; 0 when the table is full (counted as a loss). */
uint32_t bp_stack_table_id(struct bp_writer *writer, const struct bp_stack_capture *capture);

/* Stacks with a pc in [start, end) are not found again: another module may be mapped there. */
void bp_stack_table_forget(uintptr_t start, uintptr_t end);

/* In a child of fork: no stack is in the new trace yet. */
void bp_stack_table_after_fork(void);

#endif
