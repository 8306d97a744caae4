/* SPDX-License-Identifier: MIT */
/*
 * See allocator.h. What every request runs through is bp_lua_allocate, and no more than that; a
 * request within which the countdown ends, or which ends the life of a sample, goes through a slow
 * function.
 *
 * When a free is told. Before the block goes back to the allocator below, for then another thread
 * may get it and sample it. A block that is reallocated is told to have ended afterwards, because
 * it has not if that fails: nobody but this state's thread can have sampled there, unless other
 * states live, and then it is told before, and a sample whose reallocation fails is lost.
 */
#include "allocator.h"

#include "process.h"
#include "stack.h"

#include <errno.h>

static void tell_freed(struct bp_lua_state *state, const void *block)
{
	bp_host_freed(state->host, block, state->thread, bp_lua_trials(state), state->hot.objects);
}

void bp_lua_publish(struct bp_lua_state *state)
{
	bp_host_counted(state->host, state->thread, bp_lua_trials(state), state->hot.objects);
}

void bp_lua_set_interval(struct bp_lua_state *state, uint64_t interval)
{
	bp_sampler_set_interval(&state->sampler, interval);
	state->hot.trials_left = bp_sampler_restart(&state->sampler, state->hot.trials_left);
	bp_host_interval(
		state->host, state->thread, interval, bp_lua_trials(state), state->hot.objects);
}

static enum bp_lua_kind kind_of(const struct bp_lua_request *request)
{
	if (request->block != NULL)
		return BP_LUA_INTERNAL;
	switch (request->old_size) {
	case LUA_TSTRING:
		return BP_LUA_STRING;
	case LUA_TTABLE:
		return BP_LUA_TABLE;
	case LUA_TFUNCTION:
		return BP_LUA_FUNCTION;
	case LUA_TUSERDATA:
		return BP_LUA_USERDATA;
	case LUA_TTHREAD:
		return BP_LUA_THREAD;
	case LUA_NUMTYPES:
		return BP_LUA_UPVALUE;
	case LUA_NUMTYPES + 1:
		return BP_LUA_PROTOTYPE;
	default:
		return BP_LUA_INTERNAL;
	}
}

static void tell_sampled(struct bp_lua_state *state, const struct bp_lua_request *request,
	const void *block, uint32_t stack, struct bp_decision decision)
{
	const enum bp_lua_kind kind = kind_of(request);
	(void)bp_host_sampled(state->host, &(struct bp_host_event){
						   .kind = BP_HOST_SMALL,
						   .runtime = state->ordinal,
						   .type = state->types[kind],
						   .type_id = kind,
						   .object = block,
						   .size = request->new_size,
						   .thread = state->thread,
						   .stack = stack,
						   .decision = decision,
						   .trials = bp_lua_trials(state),
						   .objects = state->hot.objects,
					   });
}

/* Charges an object and tells of it if it is sampled. */
static void charge(struct bp_lua_state *state, const struct bp_lua_request *request,
	const void *block, uint32_t stack)
{
	struct bp_decision decision;
	if (!bp_sampler_crosses(&state->hot, request->new_size))
		return;
	state->hot.trials_left = bp_sampler_decide(
		&state->sampler, state->hot.trials_left, request->new_size, &decision);
	if (decision.sampled)
		tell_sampled(state, request, block, stack, decision);
	else
		bp_lua_publish(state);
	(void)bp_host_follow(state->host, state->thread, &state->sampler, &state->hot);
}

/* A block within which the countdown ends, or which was a sample, or while places are learned. The
 * words around this function's frame are looked at for the interpreter's program counter
 * (inside.h), so all registers that it may be in are saved there, and there is one such function,
 * reached in one way. */
__attribute__((noinline)) static void *allocate_slowly(
	struct bp_lua_state *state, void *old, size_t old_size, size_t new_size)
{
	__builtin_unwind_init();
	const uintptr_t *frame = __builtin_frame_address(0);
	const struct bp_lua_request request = { old, old_size, new_size };
	const bool calibrates = state->calibration != NULL;
	const int saved_errno = errno;
	uint32_t stack = 0;
	if (calibrates && old == NULL && kind_of(&request) == BP_LUA_PROTOTYPE)
		state->prototype_bytes = new_size;
	if (calibrates)
		bp_lua_calibrate(state->calibration, state->main, &request, frame);
	else if (state->host != NULL && state->hot.trials_left <= new_size)
		stack = bp_lua_stack(state, &request, frame);

	bool was_sample = !calibrates && old != NULL && bp_host_may_hold(state->host, old) &&
			  bp_host_holds(state->host, old);
	if (was_sample && !bp_lua_process_is_alone(state)) {
		tell_freed(state, old);
		was_sample = false;
	}
	errno = saved_errno;
	void *block = state->below(state->below_data, old, old_size, new_size);
	if (block == NULL || calibrates)
		return block;
	const int below_errno = errno;
	if (was_sample)
		tell_freed(state, old);
	charge(state, &request, block, stack);
	errno = below_errno;
	return block;
}

/* May the block be a sample, or a prototype whose frames are known? */
static inline bool is_special(const struct bp_lua_state *state, const void *block, size_t size)
{
	return bp_host_may_hold(state->host, block) || size == state->prototype_bytes;
}

__attribute__((noinline)) static void *free_slowly(
	struct bp_lua_state *state, void *block, size_t size)
{
	if (size == state->prototype_bytes && bp_lua_frames_knows(&state->frames, block))
		bp_lua_frames_forget(&state->frames);
	if (bp_host_may_hold(state->host, block) && bp_host_holds(state->host, block)) {
		const int saved_errno = errno;
		tell_freed(state, block);
		errno = saved_errno;
	}
	return state->below(state->below_data, block, size, 0);
}

/* A function of its own, so that a free saves no registers for it. */
__attribute__((noinline)) static void *allocate(
	struct bp_lua_state *state, void *old, size_t old_size, size_t new_size)
{
	if (state->hot.trials_left <= new_size ||
		(old != NULL && bp_host_may_hold(state->host, old)))
		return allocate_slowly(state, old, old_size, new_size);
	void *made = state->below(state->below_data, old, old_size, new_size);
	if (made != NULL)
		(void)bp_sampler_crosses(&state->hot, new_size);
	return made;
}

void *bp_lua_allocate(void *data, void *block, size_t old_size, size_t new_size)
{
	struct bp_lua_state *state = data;
	if (new_size != 0)
		return allocate(state, block, old_size, new_size);
	if (is_special(state, block, old_size))
		return free_slowly(state, block, old_size);
	return state->below(state->below_data, block, old_size, new_size);
}

void *bp_lua_allocate_closing(void *data, void *block, size_t old_size, size_t new_size)
{
	struct bp_lua_state *state = data;
	const bool is_last = new_size == 0 && block == state->last_block;
	void *made = bp_lua_allocate(data, block, old_size, new_size);
	if (is_last)
		bp_lua_process_leave(state);
	return made;
}
