/* SPDX-License-Identifier: MIT */
/*
 * The parts of machine.h for aarch64 that need not be inline.
 *
 * A signal frame, as the kernel lays it out above the stack pointer that the handler returns to
 * (struct rt_sigframe; asm/sigcontext.h, asm/ucontext.h):
 *
 *   OFFSET  SIZE  MEANING
 *   0       128   siginfo
 *   128     176   ucontext: flags, link, alternate stack, signal set and its reserve, padding
 *   304     8     fault address
 *   312     248   x0 to x30
 *   560     16    sp, pc
 */
#include "unwind/machine.h"

#include "unwind/frame_expression.h"

#define SIGNAL_REGISTERS 312
#define SIGNAL_STACK_POINTER 560
#define SIGNAL_PC 568

bool bp_machine_pack(const struct bp_frame_row *row, uint32_t *ret_rules)
{
	const struct bp_rule *back = &row->rules[BP_RETURN];
	const struct bp_rule *base = &row->rules[BP_FRAME_POINTER];
	uint32_t kind;

	if (back->kind == BP_RULE_UNDEFINED) {
		*ret_rules = BP_COMPACT_OUTERMOST;
		return true;
	}
	if (back->kind != BP_RULE_OFFSET || back->value > -8 || back->value < -8 * 0xfff ||
		back->value % 8 != 0 || row->cfa_is_expression ||
		row->rules[BP_STACK_POINTER].kind != BP_RULE_SAME ||
		row->rules[BP_PC].kind != BP_RULE_SAME)
		return false;
	if (row->cfa_register == BP_STACK_POINTER)
		kind = BP_COMPACT_SP;
	else if (row->cfa_register == BP_FRAME_POINTER)
		kind = BP_COMPACT_FP;
	else
		return false;
	const bool saved = base->kind == BP_RULE_OFFSET;
	if (saved ? base->value != back->value - 8 : base->kind != BP_RULE_SAME)
		return false;
	if (row->cfa_offset % 16 != 0 || row->cfa_offset < 0 || row->cfa_offset / 16 > 0x1fff)
		return false;
	*ret_rules = kind | (uint32_t)saved << 3 | (uint32_t)(-back->value / 8) << 4 |
		     (uint32_t)(row->cfa_offset / 16) << 16;
	return true;
}

bool bp_machine_signal_row(const uint8_t *code, struct bp_frame_row *ret_row)
{
	static const uint32_t trampoline[] = { 0xd2801168, 0xd4000001 }; /* mov x8, #139; svc #0 */
	if (__builtin_memcmp(code, trampoline, sizeof trampoline) != 0)
		return false;
	*ret_row = (struct bp_frame_row){ .cfa_register = BP_STACK_POINTER };
	for (unsigned i = 0; i <= BP_RETURN; i++)
		ret_row->rules[i] = (struct bp_rule){ .kind = BP_RULE_OFFSET,
			.value = SIGNAL_REGISTERS + 8 * (int64_t)i };
	ret_row->rules[BP_STACK_POINTER] =
		(struct bp_rule){ .kind = BP_RULE_OFFSET, .value = SIGNAL_STACK_POINTER };
	ret_row->rules[BP_PC] = (struct bp_rule){ .kind = BP_RULE_OFFSET, .value = SIGNAL_PC };
	return true;
}

bool bp_machine_is_after_call(const uint8_t *end)
{
	uint32_t word;
	if ((uintptr_t)end % sizeof word != 0)
		return false;
	__builtin_memcpy(&word, end - sizeof word, sizeof word);
	/* bl; blr and its forms with authentication */
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000;
}
