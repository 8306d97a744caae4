/* SPDX-License-Identifier: MIT */
/*
 * Which memory a walk may read: only what is known to be readable stack, so that garbage in a register
 * or on the stack ends a walk and never the program.
 *
 * Of the thread's own stack a range [known_low, high) has been verified, page by page, by a cheap
 * system call each; while the thread is deeper than known_low no call is made. Any other stack
 * (coroutine, sigaltstack) is verified a page at a time during each walk.
 */
#ifndef BP_RECORDER_STACK_MEMORY_H
#define BP_RECORDER_STACK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* What a thread remembers of its own stack; zeroed memory is valid. */
struct bp_stack_range {
	uintptr_t high;	     /* its end; 0: not looked at yet, or unknown */
	uintptr_t known_low; /* [known_low, high) was readable when last looked at */
};

/* The bounds of one walk. A word that begins in [low, low + span) may be read at once, on the thread's
 * own stack; elsewhere `checked_span` holds, and pages are verified as they are met. */
struct bp_stack_memory {
	uintptr_t low, span, checked_span;
	uintptr_t checked_page; /* the last page found readable */
};

/* Once, at start, where the loader may still be asked. */
void bp_stack_memory_init(void);

/* Where may a walk read whose lowest interesting address is `sp`? */
void bp_stack_memory_set(
	struct bp_stack_memory *memory, struct bp_stack_range *range, uintptr_t sp);

/* For bp_stack_word alone: may the word be read, where the stack is not the thread's own? */
BP_COLD bool bp_stack_may_read(struct bp_stack_memory *memory, uintptr_t address);

/* The word at `address`; false if it may not be read. Garbage need not be aligned. */
static inline bool bp_stack_word(
	struct bp_stack_memory *memory, uintptr_t address, uint64_t *ret_value)
{
	if (bp_unlikely(address - memory->low >= memory->span) &&
		!bp_stack_may_read(memory, address))
		return false;
	__builtin_memcpy(ret_value, (const void *)address, 8);
	return true;
}

/* Can [address, address + bytes) be read? At most two pages; for code, whose place is not known to be
 * mapped. Makes system calls. */
bool bp_memory_readable(uintptr_t address, uintptr_t bytes);

#endif
