/* SPDX-License-Identifier: MIT */
/*
 * machine.h for aarch64 (DWARF for the Arm 64-bit Architecture, section 4.1, for the numbers).
 * Included by machine.h alone.
 *
 * A call leaves the return address in x30, and a function that calls others keeps it in its frame,
 * next to the frame pointer and lower: where exactly, and whether CFA is found from sp or x29, is
 * the compiler's choice. Compact rules, 29 bits:
 *   0..2    kind: CFA = sp + offset, x29 + offset
 *   3       the caller's x29 is saved in the word before the return address; else it is unchanged
 *   4..15   the return address is at CFA - 8 n
 *   16..28  offset, in units of 16 bytes, which sp is always a multiple of
 *
 * Where code is built with pointer authentication, return addresses on the stack carry a signature
 * in the bits that addresses do not use. How many these are depends on the kernel (16 with
 * addresses of 48 bits, 25 with 39); xpaclri knows, and does nothing on processors that have no
 * such thing.
 */
#ifndef BP_UNWIND_MACHINE_AARCH64_H
#define BP_UNWIND_MACHINE_AARCH64_H

#include "unwind/machine.h"

enum bp_register {
	BP_FRAME_POINTER = 29,
	BP_RETURN = 30, /* the link register */
	BP_STACK_POINTER = 31,
	BP_PC = 32,
	BP_REGISTERS = 33
};

#define BP_RETURN_RULE BP_RULE_SAME
#define BP_RED_ZONE_BYTES 0u
#define BP_TELLS_PROCESSOR 0
#define BP_RECORD_ENDS_FRAME 0
#define BP_CODE_BYTES 4u
#define BP_SIGNAL_CODE_BYTES 8u

enum { BP_COMPACT_SP = BP_COMPACT_MACHINE, BP_COMPACT_FP };

static inline uint64_t bp_machine_code_address(uint64_t value)
{
	register uint64_t link __asm__("x30") = value;
	__asm__("hint 7" : "+r"(link)); /* xpaclri */
	return link;
}

/* x29 points to what a function saved with its return address, if it saved that: x29 itself. */
static inline bool bp_machine_place_stack_pointer(uint32_t rules, struct bp_frame_state *state)
{
	const uint32_t kind = rules & BP_COMPACT_KIND_MASK;
	if (kind != BP_COMPACT_SP)
		return kind != BP_COMPACT_ODD; /* sp is not asked for */
	const uint64_t cfa = state->fp + ((rules >> 4 & 0xfff) + 1) * 8;
	const uint64_t sp = cfa - (uint64_t)(rules >> 16) * 16;
	if ((rules & 8) == 0 || sp < state->sp)
		return false;
	state->sp = sp;
	return true;
}

/* The address of the calling thread's control block. */
static inline uintptr_t bp_machine_thread_pointer(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

/* Has glibc before 2.32 made no thread yet? Not known here. */
static inline bool bp_machine_has_one_thread(void)
{
	return false;
}

/* registers[BP_REGISTERS]: x19 to x29, sp and the pc of the function this is inlined into. */
static inline __attribute__((always_inline)) uint64_t bp_machine_capture(uint64_t *registers)
{
	__asm__ volatile("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\tstp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\tstr x29, [%0, #232]\n\t"
			 "mov x16, sp\n\tadr x17, .\n\tstr x16, [%0, #248]\n\tstr x17, [%0, #256]"
			 :
			 : "r"(registers)
			 : "x16", "x17", "memory");
	return (uint64_t)0x7ff << 19 | (uint64_t)1 << BP_STACK_POINTER | (uint64_t)1 << BP_PC;
}

/* To the caller's frame; false: what had to be read may not be. `rules`: of a machine's kind. */
static inline bool bp_machine_step(
	uint32_t rules, struct bp_stack_memory *memory, struct bp_frame_state *state)
{
	const bool by_sp = (rules & BP_COMPACT_KIND_MASK) == BP_COMPACT_SP;
	const uint64_t cfa = (by_sp ? state->sp : state->fp) + (uint64_t)(rules >> 16) * 16;
	const uint64_t link = cfa - (rules >> 4 & 0xfff) * 8;
	uint64_t pc;
	if (!bp_stack_word(memory, link, &pc))
		return false;
	if ((rules & 8) != 0 && !bp_stack_word(memory, link - 8, &state->fp))
		return false;
	state->sp = cfa;
	state->pc = bp_machine_code_address(pc);
	return true;
}

#endif
