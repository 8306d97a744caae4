/* SPDX-License-Identifier: MIT */
/*
 * The allocator that stands between a Lua state and the one it had: it charges what Lua asks for
 * to the sampler, tells of the objects that are sampled and of their ends, and changes nothing
 * else: every block is made, moved and freed by the allocator below, at the same size.
 *
 * Counted is what Lua gets: a request that fails makes no trial. A reallocation is a free and a
 * new object of the whole new size. The kind of a new object is what Lua says it is; the parts of
 * tables are no objects of their own to Lua, and are `internal` here.
 */
#ifndef BP_LUA_ALLOCATOR_H
#define BP_LUA_ALLOCATOR_H

#include "state.h"

/* The lua_Alloc; `data` is a struct bp_lua_state. */
void *bp_lua_allocate(void *data, void *block, size_t old_size, size_t new_size);

/* The same once the state begins to be closed: it looks for the last block that Lua frees, with
 * which the state is gone. Not called in the same way: lines of tables are approximate. */
void *bp_lua_allocate_closing(void *data, void *block, size_t old_size, size_t new_size);

/* Samples with that mean interval (BP_SAMPLER_OFF: not at all) from the next object on. */
void bp_lua_set_interval(struct bp_lua_state *state, uint64_t interval);

/* Tells the counters as they are now. */
void bp_lua_publish(struct bp_lua_state *state);

#endif
