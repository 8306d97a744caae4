/* SPDX-License-Identifier: MIT */
/*
 * The parts of machine.h for x86-64 that need not be inline.
 *
 * A signal frame, as the kernel lays it out above the stack pointer that the handler returns to
 * (struct rt_sigframe without its first word; asm/sigcontext.h):
 *
 *   OFFSET  SIZE  MEANING
 *   0       40    flags, link, alternate stack of the ucontext
 *   40      64    r8 to r15
 *   104     72    rdi rsi rbp rbx rdx rax rcx rsp rip
 */
#include "unwind/machine.h"

#include "unwind/frame_expression.h"

bool bp_machine_pack(const struct bp_frame_row *row, uint32_t *ret_rules)
{
	const struct bp_rule *back = &row->rules[BP_RETURN];
	const struct bp_rule *base = &row->rules[BP_FRAME_POINTER];
	int64_t offset = row->cfa_offset;
	uint32_t kind, saved = 0;

	if (back->kind == BP_RULE_UNDEFINED) {
		*ret_rules = BP_COMPACT_OUTERMOST;
		return true;
	}
	if (back->kind != BP_RULE_OFFSET || back->value != -8 ||
		row->rules[BP_STACK_POINTER].kind != BP_RULE_SAME)
		return false;
	if (row->cfa_is_expression) {
		/* breg rbp N, deref: gcc's functions that realign the stack */
		if (!bp_expression_is_indirect(&row->cfa_expression, BP_FRAME_POINTER, &offset))
			return false;
		kind = BP_COMPACT_FP_INDIRECT;
	} else if (row->cfa_register == BP_STACK_POINTER) {
		kind = BP_COMPACT_SP;
	} else if (row->cfa_register == BP_FRAME_POINTER) {
		kind = BP_COMPACT_FP;
	} else {
		return false;
	}
	if (base->kind == BP_RULE_OFFSET) {
		if (base->value > -16 || base->value < -8 * 255 || base->value % 8 != 0)
			return false;
		saved = (uint32_t)(-base->value / 8);
	} else if (base->kind != BP_RULE_SAME) {
		return false;
	}
	const int64_t words = offset / 8;
	if (offset % 8 != 0 || words < -(1 << 17) || words >= 1 << 17)
		return false;
	*ret_rules = kind | saved << 3 | ((uint32_t)words & 0x3ffff) << 11;
	return true;
}

bool bp_machine_signal_row(const uint8_t *code, struct bp_frame_row *ret_row)
{
	/* mov $15, %rax (both forms); syscall: rt_sigreturn */
	static const uint8_t longer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t shorter[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	if (__builtin_memcmp(code, longer, sizeof longer) != 0 &&
		__builtin_memcmp(code, shorter, sizeof shorter) != 0)
		return false;
	*ret_row = (struct bp_frame_row){ .cfa_register = BP_STACK_POINTER };
	for (unsigned i = 0; i < BP_COUNT(order); i++)
		ret_row->rules[order[i]] =
			(struct bp_rule){ .kind = BP_RULE_OFFSET, .value = 40 + 8 * (int64_t)i };
	return true;
}

bool bp_machine_is_after_call(const uint8_t *end)
{
	if (end[-5] == 0xe8) /* call rel32 */
		return true;
	/* call r/m: ff /2, with a modrm byte, perhaps an index byte and a displacement */
	for (unsigned length = 2; length <= BP_CODE_BYTES; length++) {
		const uint8_t *at = end - length;
		if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
			continue;
		const unsigned mode = at[1] >> 6, base = at[1] & 7;
		const bool indexed = mode != 3 && base == 4;
		unsigned wanted = 2 + indexed;
		if (mode == 1)
			wanted += 1;
		else if (mode == 2 || (mode == 0 && base == 5) ||
			 (indexed && mode == 0 && length > 3 && (at[2] & 7) == 5))
			wanted += 4;
		if (wanted == length)
			return true;
	}
	return false;
}
