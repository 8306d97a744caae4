/* SPDX-License-Identifier: MIT */
/*
 * A seccomp filter is a program of the classic packet filter's over the number and arguments of a
 * system call (linux/seccomp.h, linux/filter.h). To learn what it would do to a call it is run
 * here: in the recorder before a process sets a filter, and in `bytepoll attach` for the filters
 * that a process has. Pure; any program is allowed (for one that the kernel would refuse the result
 * has no meaning).
 */
#ifndef BP_BASE_SECCOMP_FILTER_H
#define BP_BASE_SECCOMP_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than the kernel takes (BPF_MAXINSNS). */
#define BP_FILTER_MAX 4096u
#define BP_FILTER_STEPS_MAX 100000u /* there are no loops in such a program */
#define BP_FILTER_MEMORY_WORDS 16u  /* BPF_MEMWORDS */

struct bp_filter_machine {
	uint32_t a, x;
	uint32_t memory[BP_FILTER_MEMORY_WORDS];
};

/* The word at `offset` of what the filter sees. */
static inline uint32_t bp_filter_load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word = 0;
	if (offset <= sizeof *data - sizeof word)
		__builtin_memcpy(&word, (const uint8_t *)data + offset, sizeof word);
	return word;
}

static inline uint32_t bp_filter_value(const struct bp_filter_machine *machine,
	const struct sock_filter *step, const struct seccomp_data *data)
{
	switch (BPF_MODE(step->code)) {
	case BPF_IMM:
		return step->k;
	case BPF_MEM:
		return machine->memory[step->k % BP_FILTER_MEMORY_WORDS];
	case BPF_LEN:
		return sizeof *data;
	default:
		return bp_filter_load(data, step->k);
	}
}

static inline uint32_t bp_filter_calculate(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b == 0 ? 0 : a / b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default: /* BPF_NEG */
		return -a;
	}
}

/* How many steps a jump leaves out. */
static inline uint32_t bp_filter_distance(const struct sock_filter *step, uint32_t a, uint32_t b)
{
	switch (BPF_OP(step->code)) {
	case BPF_JEQ:
		return a == b ? step->jt : step->jf;
	case BPF_JGT:
		return a > b ? step->jt : step->jf;
	case BPF_JGE:
		return a >= b ? step->jt : step->jf;
	case BPF_JSET:
		return (a & b) != 0 ? step->jt : step->jf;
	default: /* BPF_JA */
		return step->k;
	}
}

/* What the filter answers; SECCOMP_RET_ALLOW where it has no answer. */
static inline uint32_t bp_filter_answer(
	const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
	struct bp_filter_machine machine = { 0 };
	for (size_t at = 0, steps = 0; at < count && steps < BP_FILTER_STEPS_MAX; at++, steps++) {
		const struct sock_filter *step = &program[at];
		const uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			machine.a = bp_filter_value(&machine, step, data);
			break;
		case BPF_LDX:
			machine.x = bp_filter_value(&machine, step, data);
			break;
		case BPF_ST:
			machine.memory[step->k % BP_FILTER_MEMORY_WORDS] = machine.a;
			break;
		case BPF_STX:
			machine.memory[step->k % BP_FILTER_MEMORY_WORDS] = machine.x;
			break;
		case BPF_ALU:
			machine.a = bp_filter_calculate(BPF_OP(step->code), machine.a, operand);
			break;
		case BPF_JMP:
			at += bp_filter_distance(step, machine.a, operand);
			break;
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(step->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
			break;
		}
	}
	return SECCOMP_RET_ALLOW;
}

/* What it does to a call of the machine (an EM_ number of elf.h, of 64 bits, little-endian): the
 * action alone, without its data. */
static inline uint32_t bp_filter_action(const struct sock_filter *program, size_t count,
	uint32_t machine, uint32_t number, const uint64_t arguments[6])
{
	struct seccomp_data data = { .nr = (int)number,
		.arch = __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE | machine };
	__builtin_memcpy(data.args, arguments, sizeof data.args);
	return bp_filter_answer(program, count, &data) & SECCOMP_RET_ACTION_FULL;
}

/* Does that action end the process or the thread, or raise a signal? */
static inline bool bp_filter_kills(uint32_t action)
{
	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
	       action == SECCOMP_RET_TRAP;
}

#endif
