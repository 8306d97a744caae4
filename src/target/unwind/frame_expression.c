/* SPDX-License-Identifier: MIT */
/*
 * A little stack machine. Only what unwind tables of real programs use is understood: constants,
 * registers plus offsets, loads, sums, comparisons; operand stack and number of steps are bounded.
 */
#include "unwind/frame_expression.h"

#include <stddef.h>

#define EXPRESSION_STEPS 64
#define EXPRESSION_DEPTH 8
#define BREG_0 0x70

/* One operation of an expression that only moves the operand stack or computes. */
static bool compute(uint8_t op, uint64_t *stack, unsigned *depth)
{
	if (op == 0x12) { /* dup */
		if (*depth == 0 || *depth == EXPRESSION_DEPTH)
			return false;
		stack[*depth] = stack[*depth - 1];
		*depth += 1;
		return true;
	}
	if (*depth < 2)
		return false;
	uint64_t b = stack[--*depth], a = stack[*depth - 1], result;
	switch (op) {
	case 0x1a:
		result = a & b;
		break;
	case 0x21:
		result = a | b;
		break;
	case 0x22:
		result = a + b;
		break;
	case 0x1c:
		result = a - b;
		break;
	case 0x24:
		result = b < 64 ? a << b : 0;
		break;
	case 0x25:
		result = b < 64 ? a >> b : 0;
		break;
	case 0x2a:
		result = (int64_t)a >= (int64_t)b;
		break;
	case 0x2b:
		result = (int64_t)a > (int64_t)b;
		break;
	case 0x2c:
		result = (int64_t)a <= (int64_t)b;
		break;
	case 0x2d:
		result = (int64_t)a < (int64_t)b;
		break;
	case 0x29:
		result = a == b;
		break;
	case 0x2e:
		result = a != b;
		break;
	default:
		return false;
	}
	stack[*depth - 1] = result;
	return true;
}

static int64_t get_sleb(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0) {
			if (shift + 7 < 64 && (byte & 0x40) != 0)
				value |= ~(uint64_t)0 << (shift + 7);
			break;
		}
	}
	return (int64_t)value;
}

static uint64_t get_constant(uint8_t op, const uint8_t **at, const uint8_t *end)
{
	unsigned bytes = 1u << ((op - 0x08) / 2);
	uint64_t value = 0;
	if ((uint64_t)(end - *at) < bytes)
		return 0;
	__builtin_memcpy(&value, *at, bytes);
	*at += bytes;
	if ((op & 1) != 0 && bytes < 8) /* the odd ones are signed */
		value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	return value;
}

bool bp_expression_evaluate(const struct bp_expression *expression, struct bp_stack_memory *memory,
	struct bp_frame *frame, const uint64_t *push_cfa, uint64_t *ret_value)
{
	uint64_t stack[EXPRESSION_DEPTH];
	unsigned depth = 0;
	const uint8_t *at = expression->at, *end = expression->at + expression->bytes;
	if (push_cfa != NULL)
		stack[depth++] = *push_cfa;
	for (int step = 0; at < end && step < EXPRESSION_STEPS; step++) {
		uint8_t op = *at++;
		if (op == 0x06) { /* deref */
			if (depth == 0 ||
				!bp_stack_word(memory, stack[depth - 1], &stack[depth - 1]))
				return false;
			continue;
		}
		if (op == 0x23) { /* plus_uconst: unsigned, small enough to be read as signed */
			if (depth == 0)
				return false;
			stack[depth - 1] += (uint64_t)get_sleb(&at, end) & 0x7fffffff;
			continue;
		}
		bool pushes = (op >= 0x08 && op <= 0x0f) || (op >= 0x30 && op <= 0x4f) ||
			      (op >= BREG_0 && op < BREG_0 + 32);
		if (!pushes) {
			if (!compute(op, stack, &depth))
				return false;
			continue;
		}
		if (depth == EXPRESSION_DEPTH)
			return false;
		if (op <= 0x0f) {
			stack[depth++] = get_constant(op, &at, end);
		} else if (op <= 0x4f) {
			stack[depth++] = op - 0x30u;
		} else {
			if (!bp_frame_register(frame, op - BREG_0, &stack[depth]))
				return false;
			stack[depth++] += (uint64_t)get_sleb(&at, end);
		}
	}
	if (depth == 0)
		return false;
	*ret_value = stack[depth - 1];
	return true;
}

bool bp_expression_is_indirect(
	const struct bp_expression *expression, unsigned number, int64_t *ret_offset)
{
	if (expression->bytes < 3 || expression->at[0] != BREG_0 + number ||
		expression->at[expression->bytes - 1] != 0x06)
		return false;
	const uint8_t *at = expression->at + 1, *end = expression->at + expression->bytes - 1;
	const int64_t offset = get_sleb(&at, end);
	if (at != end)
		return false;
	*ret_offset = offset;
	return true;
}
