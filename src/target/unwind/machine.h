/* SPDX-License-Identifier: MIT */
/*
 * All that the unwinder and the recorder have to know about the processor: the numbers of
 * registers, how they are read at entry, what a signal frame looks like, what comes before a
 * return address, and how the rules of an ordinary frame fit into few bits. This file says what
 * each machine's part has to define. The part is machine_<machine>.h (constants and inline
 * functions) and machine_<machine>.c. The build chooses the .c file by the machine; for the
 * header, this is one of the few places with an #if.
 *
 *   enum bp_register         DWARF numbers: BP_FRAME_POINTER, BP_STACK_POINTER, BP_RETURN (the
 *                            column whose rule gives the return address), BP_PC (the column that
 *                            holds the pc itself; may be BP_RETURN), BP_REGISTERS (their count, at
 *                            most 64)
 *   BP_RETURN_RULE           the rule of BP_RETURN where the tables give none
 *   BP_RED_ZONE_BYTES        below the stack pointer, not overwritten by a signal frame
 *   BP_CODE_BYTES            longest piece of code that bp_machine_is_after_call looks at
 *   BP_TELLS_PROCESSOR       1: where there is a vDSO, sched_getcpu is no system call, with any C
 *                            library; 0: it may be one
 *   bp_machine_capture       registers of the calling function, at this instruction; the bits of
 *                            those that it gives
 *   bp_machine_code_address  a return address as it was before it was signed
 *   bp_machine_step          one step by compact rules
 *   BP_RECORD_ENDS_FRAME     1: the word behind a frame's saved frame pointer and return address is
 *                            where its caller's frame begins; 0: there may be more between
 *   bp_machine_place_stack_pointer
 *                            for machines with 0: puts `sp`, so far a lower bound, where it is in a
 *                            frame whose frame pointer and compact rules are known; false if that
 *                            cannot be told
 *
 * Thread-safe, async-signal-safe.
 */
#ifndef BP_UNWIND_MACHINE_H
#define BP_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/stack_memory.h"

/* A frame as the ordinary step knows it. */
struct bp_frame_state {
	uint64_t pc, sp, fp;
};

/* Rules of a frame in BP_COMPACT_BITS bits, so that they fit into a word with what is left of the
 * pc they are for (rule_cache.h). The low three bits are the kind: 0 never, three that are the same
 * for all machines, the rest the machine's own. */
#define BP_COMPACT_BITS 29
enum bp_compact_kind {
	BP_COMPACT_OUTERMOST = 1, /* there is no caller */
	BP_COMPACT_ODD = 2,	  /* does not fit into these bits: read the tables */
	BP_COMPACT_UNKNOWN = 3,	  /* code without tables: the walk used the frame pointer */
	BP_COMPACT_MACHINE = 4,	  /* first of the machine's own */
	BP_COMPACT_KIND_MASK = 7,
	BP_COMPACT_NO_MODULE = BP_COMPACT_UNKNOWN | 8 /* the same, in no module */
};

#if defined __x86_64__
#include "unwind/machine_x86_64.h"
#elif defined __aarch64__
#include "unwind/machine_aarch64.h"
#else
#error "the unwinder knows x86-64 and aarch64"
#endif

struct bp_frame_row;

/* Packs a row (frame_rules.h). False: the row does not fit, and its rules are BP_COMPACT_ODD. Not
 * for signal frames. Rules of registers other than the frame pointer and the return address are
 * ignored. */
bool bp_machine_pack(const struct bp_frame_row *row, uint32_t *ret_rules);

/* For signal handlers whose return has no tables. If the BP_SIGNAL_CODE_BYTES at `code` are the
 * return from a signal handler, returns the row that finds the interrupted registers above the
 * stack pointer. */
bool bp_machine_signal_row(const uint8_t *code, struct bp_frame_row *ret_row);

/* Does a call instruction end directly before `end`? BP_CODE_BYTES before `end` are readable. */
bool bp_machine_is_after_call(const uint8_t *end);

#endif
