/* SPDX-License-Identifier: MIT */
/*
 * Capturing the call stack of the calling thread, without frame pointers, locks or allocation.
 * Implemented by stack.c over .eh_frame (frame_rules.h).
 */
#ifndef BP_UNWIND_STACK_H
#define BP_UNWIND_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "unwind/frame_rules.h"
#include "unwind/stack_memory.h"

/* The most frames of a walk: those that are kept, and the recorder's own below the hook, of which
 * there are fewer than 32. */
#define BP_STACK_FRAMES_MAX (BP_STACK_MAX_DEPTH + 32u)

/* A frame of an earlier walk. Rules that were right at an address are still right there. */
struct bp_known_frame {
	/* which the rules are for: the pc, or the pc less one for a return address */
	uint64_t address;
	uint32_t sp;	/* the lower half of the stack pointer */
	uint32_t rules; /* machine.h */
};

/* What a thread keeps for its captures; zeroed memory is valid. */
struct bp_stack_capture {
	struct bp_stack_range range; /* of the thread's own stack */
	uint32_t depth;
	uint32_t flags; /* enum bp_stack_flag */
	uint64_t pcs[BP_STACK_MAX_DEPTH];
	uint8_t exact_mask[BP_STACK_MAX_DEPTH / 8];
	bool tables_alone; /* the last walk is not in the lists below */
	/* The frames of the last walk, found in epoch `known_epoch`, and those of this walk; they
	 * change places with each walk, and an address of 0 ends each list. */
	uint32_t known_epoch, known_turn;
	uint32_t shared_rules; /* how often shared rules were used; 0 in a new child of fork */
	struct bp_known_frame known[BP_STACK_FRAMES_MAX + 1][2];
	/* Last, because a walk with known rules touches only the pages before it. */
	struct bp_frame_scratch scratch;
};

/* Called once, when functions of the loader may still be called. `at_start`: the program has not
 * begun yet, so that what is loaded stays. */
void bp_stack_init(bool at_start);

/* Fills depth, flags, pcs and exact_mask with the callers of the recorder, innermost first, without
 * the frames of the recorder itself. Invalid values in registers or on the stack end the walk. */
void bp_stack_capture(struct bp_stack_capture *capture);

/* Returns which of the captured frames has this address of the stack in it: its number, from 0
 * (innermost); `depth` if that is not known. For the thread that captured, right after that. */
uint32_t bp_stack_frame_at(const struct bp_stack_capture *capture, const void *address);

/* Forgets all cached rules, because a module was unloaded. Thread-safe. */
void bp_stack_forget_rules(void);

#endif
