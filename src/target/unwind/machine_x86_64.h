/* SPDX-License-Identifier: MIT */
/*
 * machine.h for x86-64 (System V ABI, figure 3.36 for the numbers). Included by machine.h alone.
 *
 * Compact rules, 29 bits:
 *   0..2    kind: CFA = sp + offset, fp + offset, or the word at fp + offset (realigned stacks)
 *   3..10   the caller's frame pointer is saved at CFA - 8 n; 0: it is unchanged
 *   11..28  offset, in words, signed
 * The return address is at CFA - 8, always: that is where `call` puts it.
 */
#ifndef BP_UNWIND_MACHINE_X86_64_H
#define BP_UNWIND_MACHINE_X86_64_H

#include "unwind/machine.h"

enum bp_register {
	BP_FRAME_POINTER = 6, /* rbp */
	BP_STACK_POINTER = 7, /* rsp */
	BP_RETURN = 16,	      /* the return address column, which expressions read as rip */
	BP_PC = BP_RETURN,
	BP_REGISTERS = 17
};

#define BP_RETURN_RULE BP_RULE_UNDEFINED
#define BP_RED_ZONE_BYTES 128u
#define BP_TELLS_PROCESSOR 1
#define BP_RECORD_ENDS_FRAME 1
#define BP_CODE_BYTES 7u
#define BP_SIGNAL_CODE_BYTES 9u

enum { BP_COMPACT_SP = BP_COMPACT_MACHINE, BP_COMPACT_FP, BP_COMPACT_FP_INDIRECT };

static inline bool bp_machine_place_stack_pointer(uint32_t rules, struct bp_frame_state *state)
{
	(void)rules, (void)state;
	return true;
}

static inline uint64_t bp_machine_code_address(uint64_t value)
{
	return value;
}

/* The address of the calling thread's control block, which begins with its own address (the System
 * V ABI's supplement on thread-local storage). gcc has a builtin for it from version 11 on. */
static inline uintptr_t bp_machine_thread_pointer(void)
{
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Has glibc before 2.32 made no thread yet? It notes that in the control block, in
 * `multiple_threads` (sysdeps/x86_64/nptl/tls.h). */
static inline bool bp_machine_has_one_thread(void)
{
	int multiple;
	__asm__ volatile("movl %%fs:24, %0" : "=r"(multiple));
	return multiple == 0;
}

/* registers[BP_REGISTERS]: rbx, rbp, rsp, r12 to r15 and the pc of the function this is inlined
 * into. */
static inline __attribute__((always_inline)) uint64_t bp_machine_capture(uint64_t *registers)
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"
			 :
			 : "r"(registers)
			 : "rax", "memory");
	return 1u << 3 | 1u << BP_FRAME_POINTER | 1u << BP_STACK_POINTER | 0xfu << 12 | 1u << BP_PC;
}

/* To the caller's frame; false: what had to be read may not be. `rules`: of a machine's kind. */
static inline bool bp_machine_step(
	uint32_t rules, struct bp_stack_memory *memory, struct bp_frame_state *state)
{
	const uint32_t kind = rules & BP_COMPACT_KIND_MASK;
	const uint64_t offset = (uint64_t)(int64_t)((int32_t)(rules << 3) >> 14) * 8;
	const uint64_t saved = rules & 0xff << 3;
	uint64_t cfa = (bp_likely(kind == BP_COMPACT_SP) ? state->sp : state->fp) + offset, pc;
	if (bp_unlikely(kind == BP_COMPACT_FP_INDIRECT) && !bp_stack_word(memory, cfa, &cfa))
		return false;
	if (!bp_stack_word(memory, cfa - 8, &pc))
		return false;
	if (saved != 0 && !bp_stack_word(memory, cfa - saved, &state->fp))
		return false;
	state->pc = pc;
	state->sp = cfa;
	return true;
}

#endif
