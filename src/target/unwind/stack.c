/* SPDX-License-Identifier: MIT */
/*
 * The walk. A step applies the rules at a frame's pc to get the caller's frame. There are three
 * ways to the rules, each for what the one before does not know:
 *
 *   the last walk   Consecutive samples of a thread share most of their stack: main and what it
 *                   calls, and the recorder's own frames. Of the last walk the thread keeps the
 *                   address, stack pointer and rules of each frame, in order. Where the next
 *                   address is the same, its rules are at hand without a look-up; and because
 *                   they come from the list and not from what was just read, the processor runs
 *                   ahead, and the cache misses of many frames overlap. After a difference the
 *                   lists are brought in step again by the stack pointer.
 *   the cache       Rules by address, one word each (rule_cache.h).
 *   the tables      frame_step.c: odd frames (signals, linkage tables, expressions), and addresses
 *                   met for the first time.
 *
 * The first two know pc, stack pointer and frame pointer alone, which is what ordinary frames are
 * found by. Should a frame want another register, the walk is begun anew with all of them, by the
 * tables alone.
 *
 * A step must move the stack pointer up, but for signal frames, which may switch stacks; 256 frames
 * end the walk in any case. Which memory may be read: stack_memory.h.
 */
#include "unwind/stack.h"

#include "base/attributes.h"
#include "unwind/frame_step.h"
#include "unwind/machine.h"
#include "unwind/rule_cache.h"
#include "unwind/shared_rules.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Frames of some hundred stacks. */
#define SHARED_RULES_BEFORE_KEPT 2048u

struct walk {
	struct bp_stack_capture *capture;
	struct bp_stack_memory memory;
	struct bp_frame frame;	     /* all registers as they are at the start */
	struct bp_frame_state state; /* of the quick walk: where it is */
	const struct bp_known_frame
		*old;		      /* in the list of the last walk; every other entry is its */
	struct bp_known_frame *fresh; /* in that of this one */
	struct bp_known_frame *fresh_last; /* no further */
	bool exact;			   /* the pc of `state` is no return address */
	uint32_t epoch;
};

void bp_stack_init(bool at_start)
{
	bp_stack_memory_init();
	bp_rule_cache_init();
	if (at_start)
		bp_shared_rules_init();
}

void bp_stack_forget_rules(void)
{
	bp_shared_rules_check();
	bp_rule_cache_forget();
}

static inline bool is_own(uint64_t pc)
{
	return pc - (uint64_t)__ehdr_start < (uint64_t)(_end - __ehdr_start);
}

/* The next frame is one that was interrupted. */
static void mark_exact(struct bp_stack_capture *capture, uint64_t pc)
{
	const uint32_t depth = capture->depth;
	if (!is_own(pc) && depth < BP_STACK_MAX_DEPTH)
		capture->exact_mask[depth / 8] |= (uint8_t)(1u << (depth % 8));
}

/* Takes a pc into the capture; false if there is no more room. */
static inline bool keep(struct bp_stack_capture *capture, uint32_t *depth, uint64_t pc)
{
	if (is_own(pc))
		return true;
	if (bp_unlikely(*depth == BP_STACK_MAX_DEPTH)) {
		capture->flags = BP_STACK_CUT;
		return false;
	}
	capture->pcs[(*depth)++] = pc;
	return true;
}

/* Brings the list of the last walk in step with this one, if that can be. */
static inline const struct bp_known_frame *resume(const struct bp_known_frame *old, uint64_t sp)
{
	while (old->address != 0 && (int32_t)(old->sp - (uint32_t)sp) < 0)
		old += 2;
	return old;
}

/* As far as rules of the machine's kinds are at hand. The last entry of the list is then of the
 * frame where the walk stands, which is kept already. BP_STEP_CALLER: it has other rules. */
static enum bp_step run(struct walk *walk)
{
	struct bp_stack_capture *const capture = walk->capture;
	struct bp_frame_state state = walk->state;
	const struct bp_known_frame *old = walk->old;
	struct bp_known_frame *fresh = walk->fresh;
	enum bp_step step = BP_STEP_FAILED;
	uint32_t depth = capture->depth;
	uint64_t before = !walk->exact;
	for (; fresh < walk->fresh_last; before = 1) {
		const uint64_t address = state.pc - before, sp = state.sp;
		uint32_t rules;
		if (bp_unlikely(!keep(capture, &depth, state.pc)))
			break;
		if (old->address != address)
			old = resume(old, sp);
		if (bp_likely(old->address == address)) {
			rules = old->rules;
			old += 2;
		} else {
			rules = bp_rule_cache_find(address);
		}
		*fresh = (struct bp_known_frame){ address, (uint32_t)sp, rules };
		fresh += 2;
		if (bp_unlikely((rules & BP_COMPACT_KIND_MASK) < BP_COMPACT_MACHINE)) {
			step = BP_STEP_CALLER;
			break;
		}
		if (bp_unlikely(!bp_machine_step(rules, &walk->memory, &state)))
			break;
		if (bp_unlikely(state.sp <= sp || state.pc == 0)) {
			step = state.pc == 0 ? BP_STEP_OUTERMOST : BP_STEP_FAILED;
			break;
		}
	}
	walk->state = state;
	walk->exact = before == 0;
	walk->old = old;
	walk->fresh = fresh;
	capture->depth = depth;
	return step;
}

/* Code without tables: what was found out about it, and about where it goes, is taken from the last
 * walk; false if that is not known. */
static bool step_by_known_pointer(struct walk *walk)
{
	struct bp_module_range module;
	const struct bp_known_frame *here = walk->fresh - 2, *next = walk->old;
	if (next->address == 0 || (next - 2)->address != here->address)
		return false;
	/* Where no module was, there may be one now; where one was, unloading changes the epoch. */
	if (here->rules == BP_COMPACT_NO_MODULE && bp_module_range_find(here->address, &module))
		return false;
	struct bp_frame_state state = walk->state;
	if (!bp_frame_step_by_pointer(&walk->memory, &state, next->address + 1) ||
		!bp_machine_place_stack_pointer(next->rules, &state))
		return false;
	walk->state = state;
	return true;
}

/* Rules of the machine's kinds of an address that is met for the first time, into here->rules;
 * false: it has none. A page of the cache costs a child of fork more, when it is written for the
 * first time, than shared rules cost; so only a thread that goes on for long keeps these, too. */
static bool learn(struct walk *walk, struct bp_known_frame *here)
{
	if (here->rules != 0)
		return false;
	here->rules = bp_shared_rules_find(here->address);
	if (here->rules != 0) {
		if (walk->capture->shared_rules >= SHARED_RULES_BEFORE_KEPT)
			bp_rule_cache_store(here->address, here->rules, walk->epoch);
		else
			walk->capture->shared_rules++;
		return true;
	}
	if (!bp_frame_rules_pack(here->address, &walk->capture->scratch, &here->rules))
		return false;
	bp_shared_rules_store(here->address, here->rules);
	bp_rule_cache_store(here->address, here->rules, walk->epoch);
	return true;
}

/* By the tables; what they say is remembered. */
static enum bp_step step_by_tables(struct walk *walk)
{
	struct bp_known_frame *here = walk->fresh - 2;
	if (learn(walk, here)) {
		walk->exact = false;
		return bp_machine_step(here->rules, &walk->memory, &walk->state) ? BP_STEP_CALLER
										 : BP_STEP_FAILED;
	}
	struct bp_frame frame = { .exact = walk->exact };
	uint32_t rules;
	frame.registers[BP_STACK_POINTER] = walk->state.sp;
	frame.registers[BP_FRAME_POINTER] = walk->state.fp;
	frame.registers[BP_PC] = walk->state.pc;
	frame.known = (uint64_t)1 << BP_STACK_POINTER | (uint64_t)1 << BP_FRAME_POINTER |
		      (uint64_t)1 << BP_PC;
	enum bp_step step = bp_frame_step(&walk->memory, &frame, &walk->capture->scratch, &rules);
	if (rules != here->rules && rules != BP_COMPACT_NO_MODULE)
		bp_rule_cache_store(here->address, rules, walk->epoch);
	here->rules = rules;
	walk->frame.missed = step == BP_STEP_FAILED && frame.missed;
	if (step < BP_STEP_CALLER)
		return step;
	walk->state.sp = frame.registers[BP_STACK_POINTER];
	walk->state.pc = frame.registers[BP_PC];
	walk->state.fp =
		(frame.known >> BP_FRAME_POINTER & 1) != 0 ? frame.registers[BP_FRAME_POINTER] : 0;
	walk->exact = frame.exact;
	return step;
}

/* After a step to `pc`: does the walk go on from there? */
static enum bp_step arrive(
	struct walk *walk, enum bp_step step, uint64_t pc, uint64_t sp, uint64_t old_sp)
{
	if (pc == 0)
		return BP_STEP_OUTERMOST;
	if (bp_unlikely(step == BP_STEP_INTERRUPTED)) {
		/* What was just popped is still there, in the red zone. */
		bp_stack_memory_set(&walk->memory, &walk->capture->range, sp - BP_RED_ZONE_BYTES);
		return step;
	}
	return sp <= old_sp ? BP_STEP_FAILED : step;
}

/* The quick walk. */
static enum bp_step walk_by_rules(struct walk *walk)
{
	for (;;) {
		if (walk->exact)
			mark_exact(walk->capture, walk->state.pc);
		enum bp_step step = run(walk);
		if (step != BP_STEP_CALLER)
			return step;
		const uint64_t old_sp = walk->state.sp;
		const uint32_t rules = (walk->fresh - 2)->rules;
		if (rules == BP_COMPACT_OUTERMOST)
			return BP_STEP_OUTERMOST;
		if ((rules & BP_COMPACT_KIND_MASK) == BP_COMPACT_UNKNOWN && !walk->exact &&
			step_by_known_pointer(walk))
			continue;
		step = step_by_tables(walk);
		if (step >= BP_STEP_CALLER)
			step = arrive(walk, step, walk->state.pc, walk->state.sp, old_sp);
		if (step < BP_STEP_CALLER)
			return step;
	}
}

/* The walk with all registers, by the tables alone. */
static enum bp_step walk_by_tables(struct walk *walk)
{
	struct bp_stack_capture *const capture = walk->capture;
	struct bp_frame *frame = &walk->frame;
	uint32_t rules;
	for (uint32_t frames = 0; frames < BP_STACK_FRAMES_MAX; frames++) {
		const uint64_t pc = frame->registers[BP_PC];
		/* Interrupted code may have no frame of its own, the return address in a
		 * register. */
		const uint64_t old_sp = frame->registers[BP_STACK_POINTER] - frame->exact;
		if (frame->exact)
			mark_exact(capture, pc);
		if (!keep(capture, &capture->depth, pc))
			return BP_STEP_FAILED;
		enum bp_step step = bp_frame_step(&walk->memory, frame, &capture->scratch, &rules);
		if (step >= BP_STEP_CALLER)
			step = arrive(walk, step, frame->registers[BP_PC],
				frame->registers[BP_STACK_POINTER], old_sp);
		if (step < BP_STEP_CALLER)
			return step;
	}
	return BP_STEP_FAILED;
}

static void begin(struct walk *walk)
{
	struct bp_stack_capture *capture = walk->capture;
	capture->depth = 0;
	capture->flags = 0;
	__builtin_memset(capture->exact_mask, 0, sizeof capture->exact_mask);
	bp_stack_memory_set(
		&walk->memory, &capture->range, walk->frame.registers[BP_STACK_POINTER]);
}

/* Where the lists of the last walk and of this one begin. */
static void begin_lists(struct walk *walk)
{
	struct bp_stack_capture *capture = walk->capture;
	const uint32_t turn = capture->known_turn & 1;
	walk->epoch = __atomic_load_n(&bp_rule_cache.epoch, __ATOMIC_ACQUIRE);
	if (bp_unlikely(capture->known_epoch != walk->epoch))
		capture->known[0][turn].address = 0;
	walk->old = &capture->known[0][turn];
	walk->fresh = &capture->known[0][turn ^ 1];
	walk->fresh_last = &capture->known[BP_STACK_FRAMES_MAX][turn ^ 1];
}

static void end_lists(struct walk *walk)
{
	walk->fresh->address = 0;
	walk->capture->known_epoch = walk->epoch;
	walk->capture->known_turn ^= 1;
}

__attribute__((noinline)) void bp_stack_capture(struct bp_stack_capture *capture)
{
	struct walk walk;
	walk.frame.known = bp_machine_capture(walk.frame.registers);
	walk.frame.exact = true;
	walk.frame.missed = false;
	walk.state = (struct bp_frame_state){
		.pc = walk.frame.registers[BP_PC],
		.sp = walk.frame.registers[BP_STACK_POINTER],
		.fp = walk.frame.registers[BP_FRAME_POINTER],
	};
	walk.capture = capture;
	walk.exact = true;
	begin(&walk);
	begin_lists(&walk);
	enum bp_step step = walk_by_rules(&walk);
	end_lists(&walk);
	capture->tables_alone = step == BP_STEP_FAILED && walk.frame.missed;
	if (bp_unlikely(capture->tables_alone)) {
		begin(&walk);
		walk.frame.missed = false;
		step = walk_by_tables(&walk);
	}
	if (bp_unlikely(step == BP_STEP_FAILED && capture->flags == 0))
		capture->flags = BP_STACK_ENDED;
}

uint32_t bp_stack_frame_at(const struct bp_stack_capture *capture, const void *address)
{
	const struct bp_known_frame *frame = &capture->known[0][capture->known_turn & 1];
	uint32_t number = 0;
	if (capture->tables_alone)
		return capture->depth;
	/* A frame reaches from its stack pointer to that of its caller. The lists have the lower
	 * halves of these; a stack is smaller than 2 GiB. How far the last one reaches is not
	 * known: the walk may have ended in a function without unwind tables, and the address may
	 * lie in any of its callers. */
	for (; frame->address != 0; frame += 2) {
		const bool own = is_own(frame->address);
		const bool last = (frame + 2)->address == 0;
		const bool next =
			!last && (int32_t)((uint32_t)(uintptr_t)address - (frame + 2)->sp) >= 0;
		if (!next)
			return own || last ||
					       (int32_t)((uint32_t)(uintptr_t)address - frame->sp) <
						       0
				       ? capture->depth
				       : number;
		number += !own;
	}
	return capture->depth;
}
