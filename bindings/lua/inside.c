/* SPDX-License-Identifier: MIT */
/* See inside.h. Nothing here allocates or raises but bp_lua_inside_check and the begin of a
 * calibration. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

/* Opcodes, and fields of an instruction: op 7 bits, A 8, k 1, B 8, C 8. */
#define OP_NEWTABLE 19u
#define OP_EXTRAARG 82u
#define NODE_BYTES ((size_t)24)
#define VALUE_BYTES ((size_t)16)

/* Words looked at around the frame given: registers saved just below it, the callers' frames. */
#define WORD_FIRST (-16)
#define WORD_LAST 112
#define WORDS (WORD_LAST - WORD_FIRST)
/* The counter may be at the instruction, at its extra argument or behind both. */
#define AHEAD_MAX 2

struct bp_lua_calibration {
	const uint32_t *code;	 /* of the function that is run */
	const uint32_t *current; /* its OP_NEWTABLE now; NULL: none yet */
	uint32_t count;		 /* of its instructions */
	uint32_t seen[BP_LUA_WAYS];
	/* A bit for each `ahead` that was right every time. */
	uint8_t right[BP_LUA_WAYS][WORDS];
};

/* Every way several times, with nothing in between that stores the counter. */
const char bp_lua_calibrator[] =
	"local a, b, c, d, e = {}, {1, 2, 3}, {x = 1}, {4, y = 2}, {5, 6}\n"
	"return {}, {7}, {z = 3, a}, {b, c, d, e}, {y = a, z = b, x = c}, {{}, {8}, {x = d}}, {}";
#define CALIBRATOR_TABLES 15u

static unsigned opcode(uint32_t instruction)
{
	return instruction & 0x7f;
}

static unsigned register_of(uint32_t instruction)
{
	return instruction >> 7 & 0xff;
}

/* Size of the hash part that an OP_NEWTABLE asks for. */
static size_t node_bytes(const uint32_t *at)
{
	const unsigned logarithm = *at >> 16 & 0xff;
	return logarithm == 0 || logarithm > 32 ? 0 : NODE_BYTES << (logarithm - 1);
}

/* Size of the array part. */
static size_t array_bytes(const uint32_t *at)
{
	const size_t count = *at >> 24, more = (*at >> 15 & 1) != 0 ? at[1] >> 7 : 0;
	return VALUE_BYTES * (count + 256 * more);
}

static bool is_new_table(const uint32_t *at)
{
	return opcode(at[0]) == OP_NEWTABLE && opcode(at[1]) == OP_EXTRAARG;
}

struct bp_lua_call *bp_lua_innermost(lua_State *lua)
{
	lua_Debug about;
	if (lua_getstack(lua, 0, &about) == 0)
		return NULL;
	return (struct bp_lua_call *)about.i_ci;
}

const struct bp_lua_prototype *bp_lua_prototype_of(const struct bp_lua_call *call)
{
	if (call->function->tag != BP_LUA_TAG_LUA)
		return NULL;
	return ((const struct bp_lua_closure *)call->function->content)->code;
}

lua_CFunction bp_lua_c_function_of(const struct bp_lua_call *call)
{
	const void *code = NULL;
	lua_CFunction function;
	if (call->function->tag == BP_LUA_TAG_C)
		code = call->function->content;
	else if (call->function->tag == BP_LUA_TAG_C_CLOSURE)
		code = ((const struct bp_lua_closure *)call->function->content)->code;
	memcpy(&function, &code, sizeof function);
	return function;
}

/* The prototype of a function of Lua; NULL if it does not look like one. */
static const struct bp_lua_prototype *prototype_of_closure(const struct bp_lua_closure *closure)
{
	if (closure == NULL || closure->tag != (BP_LUA_TAG_LUA & 0x3f))
		return NULL;
	const uintptr_t code = (uintptr_t)closure->code;
	return code == 0 || code % sizeof(void *) != 0 ? NULL : closure->code;
}

static uint32_t count_tables(const struct bp_lua_prototype *prototype)
{
	uint32_t found = 0;
	for (int i = 0; i + 1 < prototype->instruction_count; i++)
		found += is_new_table(prototype->instructions + i);
	return found;
}

/* Called by Lua: are the links between calls, and what they run, as described? Upvalue: the
 * answer. */
static int check_calls(lua_State *lua)
{
	lua_Debug about;
	struct bp_lua_call *call, *caller;
	bool is_right = lua_getstack(lua, 0, &about) != 0;
	call = (struct bp_lua_call *)about.i_ci;
	is_right = is_right && lua_getstack(lua, 1, &about) != 0;
	caller = (struct bp_lua_call *)about.i_ci;
	is_right = is_right && call->previous == caller && caller->next == call &&
		   bp_lua_c_function_of(call) == check_calls && lua_topointer(lua, 1) != NULL &&
		   caller->function->tag == BP_LUA_TAG_LUA &&
		   caller->function->content == lua_topointer(lua, 1) &&
		   (const void *)(call->function + 1)->content == lua_topointer(lua, 1);
	lua_pushboolean(lua, is_right);
	return 1;
}

const char *bp_lua_inside_check(lua_State *lua)
{
	static const char calls[] =
		"local check, self = ... local answer = check(self) return answer";
	const char *problem = NULL;
	const int top = lua_gettop(lua);
	if (luaL_loadbufferx(lua, bp_lua_calibrator, strlen(bp_lua_calibrator), "=bytepoll", "t") !=
			LUA_OK ||
		luaL_loadbufferx(lua, calls, sizeof calls - 1, "=bytepoll", "t") != LUA_OK)
		problem = "its compiler failed";
	const struct bp_lua_prototype *prototype =
		problem != NULL ? NULL : prototype_of_closure(lua_topointer(lua, top + 1));
	if (problem == NULL && (prototype == NULL || prototype->instruction_count < 30 ||
				       prototype->instruction_count > 200 ||
				       count_tables(prototype) != CALIBRATOR_TABLES))
		problem = "its functions are laid out in another way";
	if (problem == NULL) {
		lua_pushcfunction(lua, check_calls);
		lua_pushvalue(lua, top + 2);
		lua_callk(lua, 2, 1, 0, NULL);
		if (lua_toboolean(lua, -1) == 0)
			problem = "its calls are laid out in another way";
	}
	lua_settop(lua, top);
	return problem;
}

struct bp_lua_calibration *bp_lua_calibration_begin(const void *function)
{
	const struct bp_lua_prototype *prototype = prototype_of_closure(function);
	struct bp_lua_calibration *calibration = calloc(1, sizeof *calibration);
	if (calibration == NULL)
		return NULL;
	calibration->code = prototype->instructions;
	calibration->count = (uint32_t)prototype->instruction_count;
	memset(calibration->right, (1 << (AHEAD_MAX + 1)) - 1, sizeof calibration->right);
	return calibration;
}

/* Keeps of the words those that hold the counter this time too. */
__attribute__((no_sanitize("address"))) static void keep_right(
	uint8_t *right, const uintptr_t *frame, const uint32_t *at)
{
	const volatile uintptr_t *words = frame;
	for (int i = 0; i < WORDS; i++) {
		const uintptr_t ahead = words[WORD_FIRST + i] - (uintptr_t)at;
		const uintptr_t steps = ahead / sizeof *at;
		const bool holds = ahead % sizeof *at == 0 && steps <= AHEAD_MAX;
		right[i] &= holds ? (uint8_t)(1u << steps) : 0;
	}
}

void bp_lua_calibrate(struct bp_lua_calibration *calibration, lua_State *lua,
	const struct bp_lua_request *request, const uintptr_t *frame)
{
	const struct bp_lua_call *call = bp_lua_innermost(lua);
	const struct bp_lua_prototype *prototype = call == NULL ? NULL : bp_lua_prototype_of(call);
	if (prototype == NULL || prototype->instructions != calibration->code ||
		request->block != NULL)
		return;
	const uint32_t *end = calibration->code + calibration->count - 1,
		       *at = calibration->current;
	enum bp_lua_way way = BP_LUA_WAY_TABLE;
	if (request->old_size == LUA_TTABLE) {
		at = at == NULL ? calibration->code : at + 1;
		while (at < end && !is_new_table(at))
			at++;
		calibration->current = at < end ? at : NULL;
	} else if (request->old_size != 0) {
		return;
	} else if (at != NULL) {
		/* The hash part comes before the array part, in all releases. */
		const bool nodes = node_bytes(at) != 0 && request->new_size == node_bytes(at);
		way = nodes ? BP_LUA_WAY_NODES : BP_LUA_WAY_ARRAY;
		if (!nodes && request->new_size != array_bytes(at))
			return;
	}
	if (calibration->current == NULL)
		return;
	calibration->seen[way]++;
	keep_right(calibration->right[way], frame, calibration->current);
}

void bp_lua_calibration_end(
	struct bp_lua_calibration *calibration, struct bp_lua_places *ret_places)
{
	for (int way = 0; way < BP_LUA_WAYS; way++) {
		struct bp_lua_place place = { .known = false };
		for (int i = 0; i < WORDS && !place.known && calibration->seen[way] >= 4; i++)
			if (calibration->right[way][i] != 0)
				place = (struct bp_lua_place){ .known = true,
					.word = (int16_t)(WORD_FIRST + i),
					.ahead = (uint8_t)__builtin_ctz(
						calibration->right[way][i]) };
		ret_places->way[way] = place;
	}
	free(calibration);
}

__attribute__((no_sanitize("address"))) static uintptr_t word_at(const uintptr_t *frame, int word)
{
	return ((const volatile uintptr_t *)frame)[word];
}

const uint32_t *bp_lua_table_instruction(const struct bp_lua_places *places, lua_State *lua,
	const struct bp_lua_request *request, const uintptr_t *frame)
{
	if (request->block != NULL || (request->old_size != LUA_TTABLE && request->old_size != 0))
		return NULL;
	const struct bp_lua_call *call = bp_lua_innermost(lua);
	const struct bp_lua_prototype *prototype = call == NULL ? NULL : bp_lua_prototype_of(call);
	if (prototype == NULL)
		return NULL;
	const bool is_table = request->old_size == LUA_TTABLE;
	for (int way = is_table ? BP_LUA_WAY_TABLE : BP_LUA_WAY_NODES;
		way <= (is_table ? BP_LUA_WAY_TABLE : BP_LUA_WAY_ARRAY); way++) {
		const struct bp_lua_place place = places->way[way];
		if (!place.known)
			continue;
		const uintptr_t offset = word_at(frame, place.word) -
					 place.ahead * sizeof(uint32_t) -
					 (uintptr_t)prototype->instructions;
		const uintptr_t index = offset / sizeof(uint32_t);
		if (offset % sizeof(uint32_t) != 0 ||
			index + 1 >= (uintptr_t)prototype->instruction_count)
			continue;
		const uint32_t *at = prototype->instructions + index;
		if (!is_new_table(at) || (int)register_of(*at) != lua_gettop(lua) - 1)
			continue;
		if (is_table || request->new_size == (way == BP_LUA_WAY_NODES ? node_bytes(at)
									      : array_bytes(at)))
			return at;
	}
	return NULL;
}
