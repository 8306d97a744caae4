/* SPDX-License-Identifier: MIT */
/*
 * Which memory a walk may read: only memory that is known to be readable stack, so that an invalid
 * value in a register or on the stack ends the walk and never the program.
 *
 * Of the thread's own stack the range [known_low, high) has been verified, page by page, by a cheap
 * system call each. A walk that begins in this range makes no such call. Any other stack (of a
 * coroutine, or sigaltstack) is verified during each walk, one page at a time.
 */
#ifndef BP_UNWIND_STACK_MEMORY_H
#define BP_UNWIND_STACK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* What a thread remembers of its own stack; zeroed memory is valid. */
struct bp_stack_range {
	uintptr_t high;	     /* its end; 0: not yet determined, or unknown */
	uintptr_t known_low; /* [known_low, high) was found readable */
};

/* The bounds of one walk. A word that begins in [low, low + span), on the thread's own stack, may
 * be read at once. On another stack `checked_span` is the bound, and each page is verified before
 * it is read. */
struct bp_stack_memory {
	uintptr_t low, span, checked_span;
	uintptr_t checked_page; /* the last page found readable */
};

/* Called once, at start, when functions of the loader may still be called. */
void bp_stack_memory_init(void);

/* Sets the bounds of a walk that begins at the stack pointer `sp`. */
void bp_stack_memory_set(
	struct bp_stack_memory *memory, struct bp_stack_range *range, uintptr_t sp);

/* For bp_stack_word alone: may the word be read, which is not on the thread's own stack? */
BP_COLD bool bp_stack_may_read(struct bp_stack_memory *memory, uintptr_t address);

/* Reads the word at `address`, which may be unaligned. False: it may not be read. */
static inline bool bp_stack_word(
	struct bp_stack_memory *memory, uintptr_t address, uint64_t *ret_value)
{
	if (bp_unlikely(address - memory->low >= memory->span) &&
		!bp_stack_may_read(memory, address))
		return false;
	__builtin_memcpy(ret_value, (const void *)address, 8);
	return true;
}

/* Can [address, address + bytes), of at most two pages, be read? This is for code at an address
 * that may not be mapped. Makes system calls. */
bool bp_memory_readable(uintptr_t address, uintptr_t bytes);

#endif
