/* SPDX-License-Identifier: MIT */
/*
 * What the module keeps for one Lua state (a main thread with all its coroutines): the two words
 * of the sampler that every allocation touches first, then what is needed when a sample is taken.
 *
 * Thread-safety: a Lua state is run by one thread at a time, and all of this belongs to it, but
 * for the links between states, which process.c guards.
 */
#ifndef BP_LUA_STATE_H
#define BP_LUA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "bytepoll/host.h"
#include "bytepoll/sampler.h"
#include "frames.h"
#include "inside.h"
#include "names.h"

/* What the allocator is told an object is, when it is new: enum below. */
enum bp_lua_kind {
	BP_LUA_INTERNAL, /* parts of tables, stacks, calls, bytecode, buffers: anything else */
	BP_LUA_STRING,
	BP_LUA_TABLE,
	BP_LUA_FUNCTION,
	BP_LUA_USERDATA,
	BP_LUA_THREAD,
	BP_LUA_UPVALUE,
	BP_LUA_PROTOTYPE,
	BP_LUA_KINDS
};

struct bp_lua_state {
	struct bp_sampler_hot hot;
	struct bp_host *host; /* NULL: nothing is told any more */
	lua_Alloc below;      /* the allocator that was there, and its data */
	void *below_data;
	struct bp_sampler sampler;
	lua_State *main;
	const void *last_block; /* the last that Lua frees: it holds the main thread */
	uint32_t ordinal;	/* of the state in this process, from 0 */
	uint32_t thread;	/* its number in the trace */
	uint64_t interval;	/* that bytepoll.start() returns to */
	uint32_t types[BP_LUA_KINDS];
	struct bp_lua_places places; /* where the interpreter keeps its program counter */
	struct bp_lua_calibration *calibration; /* while they are being learned; otherwise NULL */
	size_t prototype_bytes; /* that a prototype takes; learned with the places */
	struct bp_lua_names *names;
	struct bp_lua_frames frames;
	struct bp_lua_state *next, *previous; /* of process.c */
};

static inline uint64_t bp_lua_trials(const struct bp_lua_state *state)
{
	return bp_sampler_trials(&state->sampler, state->hot.trials_left);
}

#endif
