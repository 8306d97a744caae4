/* SPDX-License-Identifier: MIT */
/*
 * The module `bytepoll` for Lua 5.4: loading it puts the sampler under the state's allocator, and
 * that is all a script needs (`lua5.4 -lbytepoll script.lua`). What it offers beside that is
 * small; see docs/lua.md.
 *
 * It stays in memory for good (-z nodelete), for lua_close unloads libraries before it frees
 * everything else through the allocator that lies in this one.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "process.h"

/* Under which the registry knows the state's own. */
static const char registry_key = 0;

__attribute__((visibility("default"))) int luaopen_bytepoll(lua_State *lua);

static struct bp_lua_state *state_of(lua_State *lua)
{
	lua_rawgetp(lua, LUA_REGISTRYINDEX, &registry_key);
	struct bp_lua_state *state = lua_touserdata(lua, -1);
	lua_settop(lua, -2);
	return state;
}

/* bytepoll.interval([bytes]): the mean interval from now on; returns the one before, 0 if off. */
static int change_interval(lua_State *lua)
{
	struct bp_lua_state *state = state_of(lua);
	const uint64_t before = state->sampler.interval;
	if (!lua_isnoneornil(lua, 1)) {
		const lua_Integer bytes = luaL_checkinteger(lua, 1);
		luaL_argcheck(lua, bytes >= 1 && (uint64_t)bytes <= BP_SAMPLER_INTERVAL_MAX, 1,
			"an interval has at least one byte");
		state->interval = (uint64_t)bytes;
		bp_lua_set_interval(state, state->interval);
	}
	lua_pushinteger(lua, (lua_Integer)before);
	return 1;
}

/* bytepoll.stop(): samples no more, but counts. */
static int stop(lua_State *lua)
{
	struct bp_lua_state *state = state_of(lua);
	if (state->sampler.interval != BP_SAMPLER_OFF)
		bp_lua_set_interval(state, BP_SAMPLER_OFF);
	return 0;
}

/* bytepoll.start(): samples again. */
static int start(lua_State *lua)
{
	struct bp_lua_state *state = state_of(lua);
	if (state->sampler.interval == BP_SAMPLER_OFF)
		bp_lua_set_interval(state, state->interval);
	return 0;
}

/* bytepoll.totals(): bytes and objects that Lua got since the module was loaded, exactly. */
static int totals(lua_State *lua)
{
	struct bp_lua_state *state = state_of(lua);
	const uint64_t objects = state->hot.objects;
	lua_pushinteger(lua, (lua_Integer)(bp_lua_trials(state) - objects));
	lua_pushinteger(lua, (lua_Integer)objects);
	return 2;
}

/* bytepoll.trace(): the path of the trace; nil if there is none, as in a forked child. */
static int trace(lua_State *lua)
{
	const char *path = bp_lua_process_trace(state_of(lua));
	if (path[0] != '\0')
		lua_pushstring(lua, path);
	else
		lua_pushnil(lua);
	return 1;
}

/* The finalizer of what lies in the registry: the state is being closed. */
static int closing(lua_State *lua)
{
	struct bp_lua_state *state = state_of(lua);
	void *data;
	if (state == NULL)
		return 0;
	bp_lua_process_closing(state);
	/* Unless somebody has put an allocator of theirs above. */
	if (lua_getallocf(lua, &data) == bp_lua_allocate)
		lua_setallocf(lua, bp_lua_allocate_closing, state);
	return 0;
}

/* Why this Lua cannot be sampled; NULL: it can. Calls nothing that an older Lua does not have. */
static const char *reason_to_refuse(lua_State *lua)
{
	if (lua_newuserdatauv == NULL || lua_version == NULL || lua_callk == NULL ||
		luaL_checkversion_ == NULL)
		return "made for Lua 5.4, and this is an older one or LuaJIT";
	if (lua_version(lua) != LUA_VERSION_NUM)
		return "made for Lua 5.4, and this is another release";
	luaL_checkversion_(lua, LUA_VERSION_NUM, LUAL_NUMSIZES);
	return bp_lua_inside_check(lua);
}

static int load_calibrator(lua_State *lua)
{
	return luaL_loadbufferx(
		lua, bp_lua_calibrator, strlen(bp_lua_calibrator), "=bytepoll", "t");
}

/* Compiles the calibrator once more, which tells how large prototypes are, and runs the one on top
 * of the stack, all through the slow function: the countdown is still empty. What others ask for
 * in between, a collection's finalizers, is not looked at. */
static int calibrate(lua_State *lua, struct bp_lua_state *state)
{
	lua_State *const main = state->main;
	state->main = lua; /* which runs */
	state->calibration = bp_lua_calibration_begin(lua_topointer(lua, -1));
	int status = load_calibrator(lua);
	lua_settop(lua, -2);
	if (status == LUA_OK)
		status = lua_pcallk(lua, 0, 0, 0, 0, NULL);
	if (state->calibration != NULL)
		bp_lua_calibration_end(state->calibration, &state->places);
	state->calibration = NULL;
	state->main = main;
	return status;
}

/* What must be there before the state's own memory is, for all of it may raise. Leaves the
 * calibrator. */
static void prepare(lua_State *lua)
{
	static const luaL_Reg finalizer[] = { { "__gc", closing }, { NULL, NULL } };
	lua_createtable(lua, 0, 1);
	luaL_setfuncs(lua, finalizer, 0);
	(void)lua_newuserdatauv(lua, 0, 0);
	lua_rotate(lua, -2, 1);
	(void)lua_setmetatable(lua, -2);
	(void)luaL_ref(lua, LUA_REGISTRYINDEX);
	lua_pushlightuserdata(lua, NULL);
	lua_rawsetp(lua, LUA_REGISTRYINDEX, &registry_key);
	if (load_calibrator(lua) != LUA_OK)
		(void)lua_error(lua);
}

static struct bp_lua_state *create(lua_State *lua)
{
	char problem[BP_HOST_PROBLEM_BYTES] = "no memory";
	struct bp_lua_state *state = calloc(1, sizeof *state);
	if (state != NULL && (state->names = bp_lua_names_create()) != NULL &&
		bp_lua_process_join(state, problem))
		return state;
	if (state != NULL)
		bp_lua_names_destroy(state->names);
	free(state);
	(void)luaL_error(lua, "bytepoll: %s", problem);
	return NULL;
}

static void install(lua_State *lua)
{
	prepare(lua);
	struct bp_lua_state *state = create(lua);
	(void)lua_rawgeti(lua, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	state->main = lua_tothread(lua, -1);
	lua_settop(lua, -2);
	state->last_block = lua_getextraspace(state->main);
	state->below = lua_getallocf(lua, &state->below_data);
	lua_pushlightuserdata(lua, state);
	lua_rawsetp(lua, LUA_REGISTRYINDEX, &registry_key); /* is there: allocates nothing */
	lua_setallocf(lua, bp_lua_allocate, state);
	if (calibrate(lua, state) != LUA_OK)
		(void)lua_error(lua);
	bp_lua_names_learn(state->names, lua);
}

int luaopen_bytepoll(lua_State *lua)
{
	static const luaL_Reg functions[] = { { "start", start }, { "stop", stop },
		{ "interval", change_interval }, { "totals", totals }, { "trace", trace },
		{ NULL, NULL } };
	const char *reason = reason_to_refuse(lua);
	if (reason != NULL)
		return luaL_error(lua, "bytepoll: %s", reason);
	if (state_of(lua) == NULL)
		install(lua);
	lua_createtable(lua, 0, sizeof functions / sizeof functions[0]);
	luaL_setfuncs(lua, functions, 0);
	lua_pushstring(lua, BP_VERSION);
	lua_setfield(lua, -2, "version");
	/* Was the place of the program counter found (inside.h)? */
	lua_pushboolean(lua, state_of(lua)->places.way[BP_LUA_WAY_TABLE].known);
	lua_setfield(lua, -2, "exact_lines");
	return 1;
}
