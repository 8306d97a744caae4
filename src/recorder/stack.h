/* SPDX-License-Identifier: MIT */
/*
 * Capturing the call stack of the calling thread, without frame pointers, locks or allocation.
 * Implemented by stack.c over .eh_frame (frame_rules.h).
 */
#ifndef BP_RECORDER_STACK_H
#define BP_RECORDER_STACK_H

#include <stdint.h>

#include "recorder/frame_rules.h"
#include "trace/format.h"

/* What a thread keeps for its captures; zeroed memory is valid. */
struct bp_stack_capture {
	/* The thread's own stack: [known_low, high) was found readable once and stays so while the
	 * thread lives. 0: not looked at yet. */
	uintptr_t high, known_low;
	uintptr_t checked_page; /* of a stack not known: the last page found readable, this walk */
	uint32_t depth;
	uint32_t flags; /* enum bp_stack_flag */
	uint64_t pcs[BP_STACK_MAX_DEPTH];
	uint8_t exact_mask[BP_STACK_MAX_DEPTH / 8];
	struct bp_frame_scratch scratch;
};

/* Once, at start, where the loader may still be asked. */
void bp_stack_init(void);

/* Fills depth, flags, pcs and exact_mask with the callers of the recorder, innermost first; frames of
 * the recorder itself are left out. Any garbage in registers or on the stack ends the walk. */
void bp_stack_capture(struct bp_stack_capture *capture);

/* Forgets all cached rules: a module was unloaded. Thread-safe. */
void bp_stack_forget_rules(void);

#endif
