/* SPDX-License-Identifier: MIT */
/*
 * The walk. A frame is the values of the callee-saved registers, the stack pointer and the pc; a step
 * applies the rules at the pc to get the caller's. Rules of ordinary frames (CFA = rsp or rbp +
 * offset, registers saved at offsets from it) fit in 32 bytes and are cached by pc, process-wide, so
 * that a warm step reads one cache line and no table; odd frames (expressions: PLT, realigned
 * stacks, signal trampolines) are computed each time.
 *
 * Memory is read only where it is known to be readable stack. Of the thread's own stack, a range
 * [known_low, high) is verified page by page with a cheap system call, once, and only grows: the
 * pages between a live stack pointer and the stack's end stay mapped while the thread lives, and
 * guard pages keep neighbours apart. Any other stack (coroutine, sigaltstack) is verified a page at
 * a time during each walk, up to FOREIGN_BYTES above the stack pointer. A step must move the stack
 * pointer up, but for signal frames, which may switch stacks; 256 frames end the walk in any case.
 *
 * Code in no module (a JIT's) has no rules: there, and only there, the frame pointer is tried.
 */
#include "recorder/stack.h"

#include "base/attributes.h"
#include "base/system_call.h"

#define PAGE 4096u
#define CACHE_ENTRIES 4096u
#define RED_ZONE_BYTES 128u /* below the stack pointer; the kernel keeps it */
#define FOREIGN_BYTES ((uintptr_t)8 << 20)
#define OWN_BYTES_MAX ((uintptr_t)1 << 28)
#define EXPRESSION_STEPS 64
#define EXPRESSION_DEPTH 8

struct frame {
	uint64_t registers[BP_REGISTERS]; /* [BP_RETURN]: the pc */
	uint32_t known;			  /* bit per register */
	bool exact;			  /* the pc is no return address */
};

struct walk {
	struct bp_stack_capture *capture;
	uintptr_t low, high; /* where reading is allowed */
	bool own;	     /* verified already, not page by page */
};

/* Callee-saved registers, in the order of struct cached_rules.saved. */
static const uint8_t saved_registers[6] = { BP_RBX, BP_RBP, 12, 13, 14, 15 };
#define SAVED_NONE 0

enum { FLAG_OUTERMOST = 1, FLAG_CFA_INDIRECT = 2 };

struct cached_rules {
	uint64_t key;	  /* pc and epoch; 0: empty */
	uint32_t version; /* odd while being written */
	int32_t cfa_offset;
	uint8_t cfa_register, flags;
	int16_t lowest;	  /* the smallest of saved; at most -1, where the return address is */
	int16_t saved[6]; /* offset from the CFA, in units of 8 bytes, below 0; SAVED_NONE */
};
_Static_assert(sizeof(struct cached_rules) == 32, "two in a cache line");

static struct cached_rules cache[CACHE_ENTRIES];
static uint32_t cache_epoch;
extern void *__libc_stack_end __attribute__((weak)); /* the loader's */
static uintptr_t main_stack_end; /* where the program's first frame began; 0 unknown */

void bp_stack_init(void)
{
	main_stack_end = &__libc_stack_end == NULL ? 0 : (uintptr_t)__libc_stack_end;
}

void bp_stack_forget_rules(void)
{
	__atomic_fetch_add(&cache_epoch, 1, __ATOMIC_RELAXED);
}

static bool read_word(struct walk *walk, uint64_t address, uint64_t *ret_value)
{
	if (address < walk->low || address >= walk->high || walk->high - address < 8)
		return false;
	if (!walk->own) {
		uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
		uintptr_t last = (address + 7) & ~(uintptr_t)(PAGE - 1);
		if (page != walk->capture->checked_page || last != page) {
			if (!bp_system_readable(page) || !bp_system_readable(last))
				return false;
			walk->capture->checked_page = last;
		}
	}
	__builtin_memcpy(ret_value, (const void *)address, 8);
	return true;
}

/* The highest address of the calling thread's own stack: glibc keeps a thread's control block at
 * the top of its stack; the main thread's begins where the program's did. */
static uintptr_t own_stack_high(uintptr_t sp)
{
	if (sp < main_stack_end && main_stack_end - sp < OWN_BYTES_MAX)
		return (main_stack_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	/* The main thread's control block is not on its stack; if it walks another one first, what
	 * lies between the two is anybody's, and may go. */
	uintptr_t control_block = (uintptr_t)__builtin_thread_pointer();
	if (bp_system_tid() == bp_system_pid())
		return 0;
	if (sp < control_block && control_block - sp < OWN_BYTES_MAX)
		return control_block & ~(uintptr_t)7;
	return 0;
}

/* Where may this walk, whose lowest interesting address is sp, read? */
static void set_bounds(struct walk *walk, uintptr_t sp)
{
	struct bp_stack_capture *capture = walk->capture;
	if (capture->high == 0) {
		capture->high = own_stack_high(sp);
		capture->known_low = capture->high;
	}
	walk->low = sp;
	walk->own = false;
	if (sp < capture->high && capture->high - sp < OWN_BYTES_MAX) {
		uintptr_t low = capture->known_low;
		while (low > sp && bp_system_readable((low - 8) & ~(uintptr_t)(PAGE - 1)))
			low = (low - 8) & ~(uintptr_t)(PAGE - 1);
		capture->known_low = low;
		walk->own = low <= sp;
	}
	capture->checked_page = 1; /* no page: none begins there */
	walk->high = walk->own ? capture->high : sp + FOREIGN_BYTES;
	if (walk->high < sp)
		walk->high = UINTPTR_MAX;
}

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

static int64_t expression_sleb(const uint8_t **at, const uint8_t *end)
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

static uint64_t expression_constant(uint8_t op, const uint8_t **at, const uint8_t *end)
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

/* A DWARF expression over the frame's registers (DWARF 4 section 2.5); `push_cfa`: the CFA is on the
 * operand stack at the start. Operations that unwind tables do not use fail. */
static bool evaluate(struct walk *walk, const struct frame *frame, struct bp_expression expression,
	const uint64_t *push_cfa, uint64_t *ret_value)
{
	uint64_t stack[EXPRESSION_DEPTH];
	unsigned depth = 0;
	const uint8_t *at = expression.at, *end = expression.at + expression.bytes;
	if (push_cfa != NULL)
		stack[depth++] = *push_cfa;
	for (int step = 0; at < end && step < EXPRESSION_STEPS; step++) {
		uint8_t op = *at++;
		if (op == 0x06) { /* deref */
			if (depth == 0 || !read_word(walk, stack[depth - 1], &stack[depth - 1]))
				return false;
			continue;
		}
		if (op == 0x23) { /* plus_uconst: unsigned, small enough to be read as signed */
			if (depth == 0)
				return false;
			stack[depth - 1] += (uint64_t)expression_sleb(&at, end) & 0x7fffffff;
			continue;
		}
		bool pushes = (op >= 0x08 && op <= 0x0f) || (op >= 0x30 && op <= 0x4f) ||
			      (op >= 0x70 && op <= 0x80);
		if (!pushes) {
			if (!compute(op, stack, &depth))
				return false;
			continue;
		}
		if (depth == EXPRESSION_DEPTH)
			return false;
		if (op <= 0x0f) {
			stack[depth++] = expression_constant(op, &at, end);
		} else if (op <= 0x4f) {
			stack[depth++] = op - 0x30u;
		} else {
			if ((frame->known & 1u << (op - 0x70)) == 0)
				return false;
			stack[depth++] =
				frame->registers[op - 0x70] + (uint64_t)expression_sleb(&at, end);
		}
	}
	if (depth == 0)
		return false;
	*ret_value = stack[depth - 1];
	return true;
}

static bool apply_rule(struct walk *walk, const struct frame *frame, const struct bp_rule *rule,
	uint64_t cfa, uint64_t *ret_value)
{
	uint64_t address;
	switch (rule->kind) {
	case BP_RULE_OFFSET:
		return read_word(walk, cfa + (uint64_t)rule->value, ret_value);
	case BP_RULE_VALUE_OFFSET:
		*ret_value = cfa + (uint64_t)rule->value;
		return true;
	case BP_RULE_REGISTER:
		if (rule->value < 0 || rule->value >= BP_REGISTERS ||
			(frame->known & 1u << rule->value) == 0)
			return false;
		*ret_value = frame->registers[rule->value];
		return true;
	case BP_RULE_EXPRESSION:
		return evaluate(walk, frame, rule->expression, &cfa, &address) &&
		       read_word(walk, address, ret_value);
	case BP_RULE_VALUE_EXPRESSION:
		return evaluate(walk, frame, rule->expression, &cfa, ret_value);
	default:
		return false;
	}
}

/* One step by a full row. False: the walk ends. `ret_outermost`: in order. */
static bool step_by_row(
	struct walk *walk, struct frame *frame, const struct bp_frame_row *row, bool *ret_outermost)
{
	struct frame caller = *frame;
	uint64_t cfa;
	if (row->rules[BP_RETURN].kind == BP_RULE_UNDEFINED) {
		*ret_outermost = true;
		return false;
	}
	if (row->cfa_is_expression) {
		if (!evaluate(walk, frame, row->cfa_expression, NULL, &cfa))
			return false;
	} else {
		if (row->cfa_register >= BP_RETURN || (frame->known & 1u << row->cfa_register) == 0)
			return false;
		cfa = frame->registers[row->cfa_register] + (uint64_t)row->cfa_offset;
	}
	caller.registers[BP_RSP] = cfa;
	caller.known |= 1u << BP_RSP;
	for (unsigned i = 0; i < BP_REGISTERS; i++) {
		if (row->rules[i].kind == BP_RULE_SAME)
			continue;
		if (apply_rule(walk, frame, &row->rules[i], cfa, &caller.registers[i]))
			caller.known |= 1u << i;
		else if (i == BP_RETURN)
			return false;
		else
			caller.known &= ~(1u << i);
	}
	*frame = caller;
	return true;
}

/* The words below the CFA one by one, each checked: near the ends of a stack, and on a foreign one. */
static bool restore_checked(
	struct walk *walk, struct frame *frame, const struct cached_rules *rules, uint64_t cfa)
{
	for (unsigned i = 0; i < BP_COUNT(saved_registers); i++) {
		const unsigned number = saved_registers[i];
		if (rules->saved[i] == SAVED_NONE)
			continue;
		if (read_word(walk, cfa + (uint64_t)((int64_t)rules->saved[i] * 8),
			    &frame->registers[number]))
			frame->known |= 1u << number;
		else
			frame->known &= ~(1u << number);
	}
	return read_word(walk, cfa - 8, &frame->registers[BP_RETURN]);
}

static inline void restore_register(
	struct frame *frame, const struct cached_rules *rules, unsigned i, const uint64_t *cfa)
{
	if (rules->saved[i] == SAVED_NONE)
		return;
	frame->registers[saved_registers[i]] = cfa[rules->saved[i]];
	frame->known |= 1u << saved_registers[i];
}

static bool step_by_cache(struct walk *walk, struct frame *frame, const struct cached_rules *rules)
{
	if ((frame->known & 1u << rules->cfa_register) == 0)
		return false;
	uint64_t cfa = frame->registers[rules->cfa_register] + (uint64_t)(int64_t)rules->cfa_offset;
	if ((rules->flags & FLAG_CFA_INDIRECT) != 0 && !read_word(walk, cfa, &cfa))
		return false;
	frame->registers[BP_RSP] = cfa;
	/* All that is read lies in [cfa + lowest * 8, cfa): one check serves for all. */
	const uint64_t below = (uint64_t)(-(int64_t)rules->lowest) * 8;
	if (!walk->own || cfa > walk->high || cfa < walk->low || cfa - walk->low < below)
		return restore_checked(walk, frame, rules, cfa);
	const uint64_t *words = (const uint64_t *)cfa;
	restore_register(frame, rules, 0, words);
	restore_register(frame, rules, 1, words);
	restore_register(frame, rules, 2, words);
	restore_register(frame, rules, 3, words);
	restore_register(frame, rules, 4, words);
	restore_register(frame, rules, 5, words);
	frame->registers[BP_RETURN] = words[-1];
	return true;
}

/* `DW_OP_breg rbp N, DW_OP_deref`: gcc's CFA in functions that realign the stack. */
static bool is_indirect_cfa(const struct bp_frame_row *row, struct cached_rules *rules)
{
	const struct bp_expression *expression = &row->cfa_expression;
	if (expression->bytes < 3 || expression->at[0] != 0x70 + BP_RBP ||
		expression->at[expression->bytes - 1] != 0x06)
		return false;
	const uint8_t *at = expression->at + 1;
	rules->cfa_offset = (int32_t)expression_sleb(&at, expression->at + expression->bytes - 1);
	rules->cfa_register = BP_RBP;
	rules->flags |= FLAG_CFA_INDIRECT;
	return at == expression->at + expression->bytes - 1;
}

/* Packs a row; false if it is too odd for the cache. */
static bool pack(const struct bp_frame_row *row, struct cached_rules *ret_rules)
{
	*ret_rules = (struct cached_rules){ 0 };
	if (row->rules[BP_RETURN].kind == BP_RULE_UNDEFINED) {
		ret_rules->flags = FLAG_OUTERMOST;
		return true;
	}
	if (row->cfa_is_expression) {
		if (!is_indirect_cfa(row, ret_rules))
			return false;
	} else {
		if (row->cfa_register >= BP_RETURN || row->cfa_offset != (int32_t)row->cfa_offset)
			return false;
		ret_rules->cfa_register = row->cfa_register;
		ret_rules->cfa_offset = (int32_t)row->cfa_offset;
	}
	const struct bp_rule *back = &row->rules[BP_RETURN];
	uint32_t packed = 1u << BP_RETURN;
	if (back->kind != BP_RULE_OFFSET || back->value != -8)
		return false;
	ret_rules->lowest = -1;
	for (unsigned i = 0; i < BP_COUNT(saved_registers); i++) {
		const struct bp_rule *rule = &row->rules[saved_registers[i]];
		packed |= 1u << saved_registers[i];
		if (rule->kind == BP_RULE_SAME)
			continue;
		if (rule->kind != BP_RULE_OFFSET || rule->value % 8 != 0 || rule->value >= 0 ||
			rule->value / 8 <= INT16_MIN)
			return false;
		ret_rules->saved[i] = (int16_t)(rule->value / 8);
		if (ret_rules->saved[i] < ret_rules->lowest)
			ret_rules->lowest = ret_rules->saved[i];
	}
	for (unsigned i = 0; i < BP_REGISTERS; i++)
		if ((packed & 1u << i) == 0 && row->rules[i].kind != BP_RULE_SAME)
			return false;
	return true;
}

static struct cached_rules *cache_entry(uint64_t key)
{
	return &cache[(key * 0x9E3779B97F4A7C15u) >> 52];
}

static bool cache_look_up(uint64_t key, struct cached_rules *ret_rules)
{
	struct cached_rules *entry = cache_entry(key);
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
	if (entry->key != key || (version & 1) != 0)
		return false;
	*ret_rules = *entry;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&entry->version, __ATOMIC_RELAXED) == version &&
	       ret_rules->key == key;
}

static void cache_store(uint64_t key, const struct cached_rules *rules)
{
	struct cached_rules *entry = cache_entry(key);
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_RELAXED);
	if ((version & 1) != 0 || !__atomic_compare_exchange_n(&entry->version, &version,
					  version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	entry->key = key;
	entry->cfa_offset = rules->cfa_offset;
	entry->cfa_register = rules->cfa_register;
	entry->flags = rules->flags;
	entry->lowest = rules->lowest;
	__builtin_memcpy(entry->saved, rules->saved, sizeof entry->saved);
	__atomic_store_n(&entry->version, version + 2, __ATOMIC_RELEASE);
}

/* Code in no module: the frame pointer, if it looks like one. */
static bool step_by_frame_pointer(struct walk *walk, struct frame *frame)
{
	uint64_t base = frame->registers[BP_RBP], next, pc;
	if ((frame->known & 1u << BP_RBP) == 0 || base % 8 != 0 ||
		base < frame->registers[BP_RSP] || !read_word(walk, base, &next) ||
		!read_word(walk, base + 8, &pc))
		return false;
	frame->registers[BP_RBP] = next;
	frame->registers[BP_RSP] = base + 16;
	frame->registers[BP_RETURN] = pc;
	frame->known = 1u << BP_RBP | 1u << BP_RSP | 1u << BP_RETURN;
	return true;
}

/* To the caller's frame. False: the walk ends here; `ret_outermost` tells whether in order. */
static bool step(struct walk *walk, struct frame *frame, bool *ret_outermost)
{
	const uint64_t old_sp = frame->registers[BP_RSP];
	const uint64_t pc = frame->registers[BP_RETURN] - (frame->exact ? 0 : 1);
	const uint64_t key = pc ^ (uint64_t)__atomic_load_n(&cache_epoch, __ATOMIC_RELAXED) << 48;
	struct cached_rules rules;
	struct bp_module_range range;
	bool signal_frame = false, stepped;

	if (cache_look_up(key, &rules)) {
		*ret_outermost = (rules.flags & FLAG_OUTERMOST) != 0;
		stepped = !*ret_outermost && step_by_cache(walk, frame, &rules);
	} else if (!bp_module_range_find(pc, &range)) {
		stepped = step_by_frame_pointer(walk, frame);
	} else {
		struct bp_frame_scratch *scratch = &walk->capture->scratch;
		if (!bp_frame_rules(&range, pc, scratch, &signal_frame))
			return false;
		if (!signal_frame && pack(&scratch->row, &rules))
			cache_store(key, &rules);
		stepped = step_by_row(walk, frame, &scratch->row, ret_outermost);
	}
	if (!stepped)
		return false;
	frame->exact = signal_frame;
	if (frame->registers[BP_RETURN] == 0) {
		*ret_outermost = true;
		return false;
	}
	if (signal_frame) /* what was just popped is still there, in the red zone */
		set_bounds(walk, frame->registers[BP_RSP] - RED_ZONE_BYTES);
	else if (frame->registers[BP_RSP] <= old_sp)
		return false;
	return true;
}

/* Registers of the calling function, at this very instruction. */
#define CAPTURE_REGISTERS(frame)                                                                \
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"   \
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t" \
			 "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"   \
			 :                                                                      \
			 : "r"((frame)->registers)                                              \
			 : "rax", "memory")

__attribute__((noinline)) void bp_stack_capture(struct bp_stack_capture *capture)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));
	struct frame frame = { .exact = true };
	struct walk walk = { .capture = capture };
	bool outermost = false;

	CAPTURE_REGISTERS(&frame);
	frame.known = 1u << BP_RBX | 1u << BP_RBP | 1u << BP_RSP | 0xfu << BP_R12 | 1u << BP_RETURN;
	set_bounds(&walk, frame.registers[BP_RSP]);
	capture->depth = 0;
	capture->flags = 0;
	__builtin_memset(capture->exact_mask, 0, sizeof capture->exact_mask);
	for (unsigned own = 0; own < 32;) {
		uint64_t pc = frame.registers[BP_RETURN];
		if (pc >= (uint64_t)__ehdr_start && pc < (uint64_t)_end) {
			own++;
		} else if (capture->depth == BP_STACK_MAX_DEPTH) {
			capture->flags = BP_STACK_CUT;
			return;
		} else {
			if (frame.exact)
				capture->exact_mask[capture->depth / 8] |=
					(uint8_t)(1u << (capture->depth % 8));
			capture->pcs[capture->depth++] = pc;
		}
		if (!step(&walk, &frame, &outermost))
			break;
	}
	if (!outermost)
		capture->flags = BP_STACK_ENDED;
}
