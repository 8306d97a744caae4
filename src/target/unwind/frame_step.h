/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk with all that can be known: all registers, full rows of rules, code without
 * tables. stack.c calls it where its quick step meets something unusual, and where no rules are
 * cached yet. Thread-safe, async-signal-safe.
 */
#ifndef BP_UNWIND_FRAME_STEP_H
#define BP_UNWIND_FRAME_STEP_H

#include "unwind/frame_expression.h"

enum bp_step {
	BP_STEP_FAILED,
	BP_STEP_OUTERMOST,  /* no error: there is no caller */
	BP_STEP_CALLER,	    /* the frame is the caller's */
	BP_STEP_INTERRUPTED /* the same; it was interrupted by a signal, perhaps on another stack */
};

/* Goes to the caller's frame. `ret_rules`: the rules to remember for this pc (machine.h); 0:
 * none. */
enum bp_step bp_frame_step(struct bp_stack_memory *memory, struct bp_frame *frame,
	struct bp_frame_scratch *scratch, uint32_t *ret_rules);

/* Finds the compact rules of an ordinary frame (of one of the machine's own kinds, machine.h) at
 * `address`, which is the pc, or the pc less one for a return address. False: the frame is not
 * ordinary. */
bool bp_frame_rules_pack(uint64_t address, struct bp_frame_scratch *scratch, uint32_t *ret_rules);

/* Goes to the caller's frame from code without tables, by the frame pointer; false if that cannot
 * be right. `known_caller`: a pc that was found to be a return address before; 0: none. */
bool bp_frame_step_by_pointer(
	struct bp_stack_memory *memory, struct bp_frame_state *state, uint64_t known_caller);

#endif
