/* SPDX-License-Identifier: MIT */
/*
 * What the Lua states of a process share: the trace. It is opened by the first that loads the
 * module and closed when the process ends.
 *
 * What is live at the end. lua_close frees all that a script holds, which says nothing about the
 * script; so the last state to be closed does not tell of those frees (bp_lua_process_closing,
 * when its finalizers have run), and what it holds then is what a report calls live. If another
 * state follows after all, they are told when it comes.
 *
 * Environment: BYTEPOLL_HOST_OUTPUT, the trace (see bytepoll/host.h); BYTEPOLL_INTERVAL,
 * BYTEPOLL_SEED; BYTEPOLL_START=dormant: not before bytepoll.start().
 *
 * fork: the child's samples are not told, but if it makes a state of its own, that has a trace of
 * its own.
 */
#ifndef BP_LUA_PROCESS_H
#define BP_LUA_PROCESS_H

#include "state.h"

/* Gives the state its host, thread and sampler. False: a sentence is in `problem`. */
bool bp_lua_process_join(struct bp_lua_state *state, char *problem);

/* The state begins to be closed. */
void bp_lua_process_closing(struct bp_lua_state *state);

/* The state is gone, and `state` with it. */
void bp_lua_process_leave(struct bp_lua_state *state);

/* Is it the only state? */
bool bp_lua_process_is_alone(const struct bp_lua_state *state);

/* The path of the trace; "" if there is none. */
const char *bp_lua_process_trace(const struct bp_lua_state *state);

#endif
