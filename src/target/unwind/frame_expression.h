/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions (DWARF 4 section 2.5) over the registers of a frame, as unwind tables have
 * them. Thread-safe, async-signal-safe.
 */
#ifndef BP_UNWIND_FRAME_EXPRESSION_H
#define BP_UNWIND_FRAME_EXPRESSION_H

#include "unwind/frame_rules.h"
#include "unwind/stack_memory.h"

/* A frame with all its registers. */
struct bp_frame {
	uint64_t registers[BP_REGISTERS]; /* [BP_PC]: the pc */
	uint64_t known;			  /* bit per register */
	bool exact;			  /* the pc is no return address */
	bool missed;			  /* a register was needed that is not known */
};

/* Returns the value of a register. False: it is not known, and `missed` is set. */
static inline bool bp_frame_register(struct bp_frame *frame, uint64_t number, uint64_t *ret_value)
{
	if (number >= BP_REGISTERS || (frame->known >> number & 1) == 0) {
		frame->missed = true;
		return false;
	}
	*ret_value = frame->registers[number];
	return true;
}

/* Returns the value of `expression`. `push_cfa`, if not NULL, is on the operand stack at the start.
 * False: the expression has an operation that unwind tables do not use, or needs memory that may
 * not be read. */
bool bp_expression_evaluate(const struct bp_expression *expression, struct bp_stack_memory *memory,
	struct bp_frame *frame, const uint64_t *push_cfa, uint64_t *ret_value);

/* Is the expression the word at `register + offset`? That is the CFA of gcc's functions that
 * realign the stack. */
bool bp_expression_is_indirect(
	const struct bp_expression *expression, unsigned number, int64_t *ret_offset);

#endif
