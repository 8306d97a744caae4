/* SPDX-License-Identifier: MIT */
/*
 * Capturing the call stack of the calling thread, without frame pointers, locks or allocation.
 * Implemented by stack.c over .eh_frame (frame_rules.h).
 */
#ifndef BP_RECORDER_STACK_H
#define BP_RECORDER_STACK_H

#include <stdint.h>

#include "recorder/frame_rules.h"
#include "recorder/stack_memory.h"
#include "trace/format.h"

/* Frames of a walk: the recorder's own, below the hook, are not kept; more of them were a fault of ours. */
#define BP_STACK_FRAMES_MAX (BP_STACK_MAX_DEPTH + 32u)

/* A frame of an earlier walk: the rules that were right at an address are right there still. */
struct bp_known_frame {
	uint64_t address; /* that the rules are for: the pc, less one if it is a return address */
	uint32_t sp;	  /* the lower half of the stack pointer */
	uint32_t rules;	  /* machine.h */
};

/* What a thread keeps for its captures; zeroed memory is valid. */
struct bp_stack_capture {
	struct bp_stack_range range; /* of the thread's own stack */
	uint32_t depth;
	uint32_t flags; /* enum bp_stack_flag */
	uint64_t pcs[BP_STACK_MAX_DEPTH];
	uint8_t exact_mask[BP_STACK_MAX_DEPTH / 8];
	/* The last walk, found in epoch `known_epoch`, and this one, in turn; an address of 0 ends each. */
	uint32_t known_epoch, known_turn;
	struct bp_known_frame known[BP_STACK_FRAMES_MAX + 1][2];
	/* Last, because a walk of what is known touches the pages before it alone. */
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
