/* SPDX-License-Identifier: MIT */
/*
 * What functions are called. A function of Lua has no name of its own, only names by which it is
 * called; the first that is seen stays its name, so that a report has one row for it. C functions
 * are named at load after the modules that hold them ("string.rep"). A bounded table per state:
 * what finds no room is named anew each time.
 *
 * Thread-safety: as the Lua state.
 */
#ifndef BP_LUA_NAMES_H
#define BP_LUA_NAMES_H

#include "api.h"

#define BP_LUA_NAME_BYTES 56

struct bp_lua_names;

/* NULL: no memory. */
struct bp_lua_names *bp_lua_names_create(void);
void bp_lua_names_destroy(struct bp_lua_names *names);

/* Names the C functions of all loaded modules. Calls into Lua. */
void bp_lua_names_learn(struct bp_lua_names *names, lua_State *lua);

/* The name of a C function; NULL: not known. */
const char *bp_lua_names_of_c(const struct bp_lua_names *names, lua_CFunction function);

/* The name of the function of Lua that `about` is about, of which it has "S". `candidate` is taken
 * if it has none so far; NULL: it is only asked for, and the answer may be NULL. */
const char *bp_lua_names_of_lua(
	struct bp_lua_names *names, const lua_Debug *about, const char *candidate);

#endif
