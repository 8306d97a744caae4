/* SPDX-License-Identifier: MIT */
/*
 * Rows applied to frames; and three ways on where there is no row for the pc:
 *
 *   a return address that is the first instruction of a function: nothing called from before it, so
 *   it was put there by hand, as the end of a coroutine (makecontext). If the tables there say that
 *   there is no caller, the walk ends in order.
 *
 *   code that returns from a signal handler: the interrupted registers lie where the kernel put
 *   them.
 *
 *   the frame pointer. Code that compilers make at run time, and V8's builtins, keep one; other
 *   code without tables may not, and its frame pointer is then an outer frame's or nonsense. So the
 *   step is taken only if the frame it leads to lies above the stack pointer and its pc is preceded
 *   by a call instruction. What passes that can still skip the callers between; it never invents
 *   one.
 */
#include "unwind/frame_step.h"

#include <stddef.h>

static bool apply_rule(struct bp_stack_memory *memory, struct bp_frame *frame,
	const struct bp_rule *rule, uint64_t cfa, uint64_t *ret_value)
{
	uint64_t address;
	switch (rule->kind) {
	case BP_RULE_OFFSET:
		return bp_stack_word(memory, cfa + (uint64_t)rule->value, ret_value);
	case BP_RULE_VALUE_OFFSET:
		*ret_value = cfa + (uint64_t)rule->value;
		return true;
	case BP_RULE_REGISTER:
		return bp_frame_register(frame, (uint64_t)rule->value, ret_value);
	case BP_RULE_EXPRESSION:
		return bp_expression_evaluate(&rule->expression, memory, frame, &cfa, &address) &&
		       bp_stack_word(memory, address, ret_value);
	case BP_RULE_VALUE_EXPRESSION:
		return bp_expression_evaluate(&rule->expression, memory, frame, &cfa, ret_value);
	default:
		return false;
	}
}

static bool frame_address(struct bp_stack_memory *memory, struct bp_frame *frame,
	const struct bp_frame_row *row, uint64_t *ret_cfa)
{
	if (row->cfa_is_expression)
		return bp_expression_evaluate(&row->cfa_expression, memory, frame, NULL, ret_cfa);
	if (!bp_frame_register(frame, row->cfa_register, ret_cfa))
		return false;
	*ret_cfa += (uint64_t)row->cfa_offset;
	return true;
}

static enum bp_step step_by_row(
	struct bp_stack_memory *memory, struct bp_frame *frame, const struct bp_frame_row *row)
{
	struct bp_frame caller = *frame;
	uint64_t cfa;
	if (row->rules[BP_RETURN].kind == BP_RULE_UNDEFINED)
		return BP_STEP_OUTERMOST;
	if (!frame_address(memory, frame, row, &cfa))
		return BP_STEP_FAILED;
	caller.registers[BP_STACK_POINTER] = cfa;
	caller.known |= (uint64_t)1 << BP_STACK_POINTER;
	/* A return address is below the CFA. Tables that have it above (glibc's aarch64 trampoline
	 * of lazy binding) mean the stack pointer as it is there, with that word pushed last. */
	if (row->rules[BP_RETURN].kind == BP_RULE_OFFSET && row->rules[BP_RETURN].value >= 0)
		caller.registers[BP_STACK_POINTER] += (uint64_t)row->rules[BP_RETURN].value + 8;
	bool missed = frame->missed;
	for (unsigned i = 0; i < BP_REGISTERS; i++) {
		if (row->rules[i].kind == BP_RULE_SAME)
			continue;
		if (apply_rule(memory, frame, &row->rules[i], cfa, &caller.registers[i]))
			caller.known |= (uint64_t)1 << i;
		else if (i == BP_RETURN)
			return BP_STEP_FAILED;
		else
			caller.known &= ~((uint64_t)1 << i);
	}
	if (row->rules[BP_PC].kind == BP_RULE_SAME) {
		if (!bp_frame_register(&caller, BP_RETURN, &caller.registers[BP_PC])) {
			frame->missed = true;
			return BP_STEP_FAILED;
		}
	}
	caller.registers[BP_PC] = bp_machine_code_address(caller.registers[BP_PC]);
	caller.missed = missed; /* of a register that nobody may ask for: no matter */
	caller.exact = false;
	*frame = caller;
	return BP_STEP_CALLER;
}

static enum bp_step interrupted(enum bp_step step, struct bp_frame *frame)
{
	if (step != BP_STEP_CALLER)
		return step;
	frame->exact = true;
	return BP_STEP_INTERRUPTED;
}

bool bp_frame_step_by_pointer(
	struct bp_stack_memory *memory, struct bp_frame_state *state, uint64_t known_caller)
{
	struct bp_frame_state caller;
	if (state->fp % 8 != 0 || state->fp < state->sp ||
		!bp_stack_word(memory, state->fp, &caller.fp) ||
		!bp_stack_word(memory, state->fp + 8, &caller.pc))
		return false;
	caller.sp = state->fp + 16;
	caller.pc = bp_machine_code_address(caller.pc);
	if (caller.pc != known_caller &&
		!(bp_memory_readable(caller.pc - BP_CODE_BYTES, BP_CODE_BYTES) &&
			bp_machine_is_after_call((const uint8_t *)caller.pc)))
		return false;
	*state = caller;
	return true;
}

/* Puts right the stack pointer of a frame that was found by the record of the one it called; false
 * if where that is cannot be known. */
static bool place_stack_pointer(struct bp_frame_state *state, struct bp_frame_scratch *scratch)
{
	struct bp_module_range module;
	bool signal_frame;
	uint32_t rules;
	if (BP_RECORD_ENDS_FRAME || !bp_module_range_find(state->pc - 1, &module) ||
		!bp_frame_rules(&module, state->pc - 1, scratch, &signal_frame))
		return true; /* it is right, or will not be asked for */
	return bp_machine_pack(&scratch->row, &rules) &&
	       bp_machine_place_stack_pointer(rules, state);
}

/* Code for which there are no rules. `module`: that it lies in, NULL none. */
static enum bp_step step_without_tables(struct bp_stack_memory *memory, struct bp_frame *frame,
	const struct bp_module_range *module, struct bp_frame_scratch *scratch)
{
	const uint64_t pc = frame->registers[BP_PC];
	bool signal_frame;
	if (!frame->exact && module != NULL && bp_frame_rules(module, pc, scratch, &signal_frame)) {
		if (scratch->row.rules[BP_RETURN].kind == BP_RULE_UNDEFINED)
			return BP_STEP_OUTERMOST;
		return signal_frame ? interrupted(step_by_row(memory, frame, &scratch->row), frame)
				    : BP_STEP_FAILED;
	}
	if (bp_memory_readable(pc, BP_SIGNAL_CODE_BYTES) &&
		bp_machine_signal_row((const uint8_t *)pc, &scratch->row))
		return interrupted(step_by_row(memory, frame, &scratch->row), frame);
	struct bp_frame_state state;
	if (!bp_frame_register(frame, BP_FRAME_POINTER, &state.fp) ||
		!bp_frame_register(frame, BP_STACK_POINTER, &state.sp) ||
		!bp_frame_step_by_pointer(memory, &state, 0) ||
		!place_stack_pointer(&state, scratch))
		return BP_STEP_FAILED;
	frame->registers[BP_FRAME_POINTER] = state.fp;
	frame->registers[BP_STACK_POINTER] = state.sp;
	frame->registers[BP_PC] = state.pc;
	frame->known = (uint64_t)1 << BP_FRAME_POINTER | (uint64_t)1 << BP_STACK_POINTER |
		       (uint64_t)1 << BP_PC;
	frame->exact = false;
	return BP_STEP_CALLER;
}

bool bp_frame_rules_pack(uint64_t address, struct bp_frame_scratch *scratch, uint32_t *ret_rules)
{
	struct bp_module_range module;
	bool signal_frame;
	uint32_t rules;
	if (!bp_module_range_find(address, &module) ||
		!bp_frame_rules(&module, address, scratch, &signal_frame) || signal_frame ||
		!bp_machine_pack(&scratch->row, &rules) ||
		(rules & BP_COMPACT_KIND_MASK) < BP_COMPACT_MACHINE)
		return false;
	*ret_rules = rules;
	return true;
}

enum bp_step bp_frame_step(struct bp_stack_memory *memory, struct bp_frame *frame,
	struct bp_frame_scratch *scratch, uint32_t *ret_rules)
{
	const uint64_t pc = frame->registers[BP_PC] - !frame->exact;
	struct bp_module_range module;
	bool signal_frame = false;
	const bool placed = bp_module_range_find(pc, &module);
	if (!placed || !bp_frame_rules(&module, pc, scratch, &signal_frame)) {
		enum bp_step step =
			step_without_tables(memory, frame, placed ? &module : NULL, scratch);
		*ret_rules = step != BP_STEP_CALLER ? 0
			     : placed		    ? BP_COMPACT_UNKNOWN
						    : BP_COMPACT_NO_MODULE;
		return step;
	}
	if (signal_frame || !bp_machine_pack(&scratch->row, ret_rules))
		*ret_rules = BP_COMPACT_ODD;
	/* Tables of some kernels for their aarch64 trampoline know of two registers only. */
	if (signal_frame && bp_memory_readable(frame->registers[BP_PC], BP_SIGNAL_CODE_BYTES))
		(void)bp_machine_signal_row(
			(const uint8_t *)frame->registers[BP_PC], &scratch->row);
	enum bp_step step = step_by_row(memory, frame, &scratch->row);
	return signal_frame ? interrupted(step, frame) : step;
}
