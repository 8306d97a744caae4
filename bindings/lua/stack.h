/* SPDX-License-Identifier: MIT */
/*
 * The stack of Lua, from inside the allocator: nothing is allocated, raised or pushed.
 *
 * Which thread runs? Lua does not say. But whoever resumes a coroutine is inside coroutine.resume
 * (its first argument), a function of coroutine.wrap (its first upvalue) or coroutine.close; so
 * from the main thread one follows the thread that the innermost C function holds, as long as it
 * is active and new. The frames of a coroutine are followed by those of its resumer. (A C library
 * that resumes threads it holds elsewhere is charged with what they allocate.)
 *
 * Frames. A function of Lua is `name <file:line of its definition>`, at its current line. A C
 * function is placed at the line of Lua that called it. What the garbage collector's finalizers
 * allocate has the stack of whom they interrupted, as in Lua's own tracebacks.
 */
#ifndef BP_LUA_STACK_H
#define BP_LUA_STACK_H

#include "state.h"

/* Most frames of one stack. */
#define BP_LUA_DEPTH_MAX 128

/* The number of the stack in the trace; 0: not known. `frame`: of the allocator, see inside.h. To
 * be called before the block is reallocated, for it may be a stack of Lua. */
uint32_t bp_lua_stack(
	struct bp_lua_state *state, const struct bp_lua_request *request, const uintptr_t *frame);

#endif
