/* SPDX-License-Identifier: MIT */
/*
 * The few facts about the inside of Lua 5.4 that its interface does not tell: the links between
 * calls, which function a call runs, and at which instruction it is while it makes a table.
 *
 * Why. A sample is taken inside the allocator, where nothing may be allocated, raised or pushed.
 * The interface is enough there to walk a stack (lua_getstack, lua_getinfo), but in quadratic
 * time; and the interpreter stores a call's program counter before every instruction that may fail
 * or allocate, but for OP_NEWTABLE. Without more, tables would be charged to the line of whatever
 * call came before. (OP_SETLIST stores none either, but enlarges a table only when a call or `...`
 * ends the constructor, and that one has stored its own.)
 *
 * The layouts below are those of all releases from 5.4.0 to 5.4.8. bp_lua_inside_check compares
 * them with the interpreter at hand, by way of its interface, before anything depends on them.
 *
 * Where the program counter is. The compiler of the interpreter chose a register or a place on the
 * C stack for it, and between the interpreter's loop and the allocator lie always the same calls.
 * So, at load, a function of known instructions is run, and the words around the allocator's frame
 * are compared with what the program counter must be: the place that is right every time is the
 * place (bp_lua_calibrate). Later a word from there counts only if it points behind an OP_NEWTABLE
 * of the running function whose register is the one that Lua has just made the top of its stack,
 * and whose operands give the size asked for (bp_lua_table_instruction). Otherwise the stored
 * counter is taken.
 *
 * Thread-safety: as the Lua state.
 */
#ifndef BP_LUA_INSIDE_H
#define BP_LUA_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

/* A tagged value. */
struct bp_lua_value {
	const void *content;
	uint8_t tag;
};
/* Of functions: written in Lua, a plain C function, one with upvalues. */
#define BP_LUA_TAG_LUA 0x46
#define BP_LUA_TAG_C 0x16
#define BP_LUA_TAG_C_CLOSURE 0x66

/* A function of Lua, or of C with upvalues. */
struct bp_lua_closure {
	void *next;
	uint8_t tag, marked, upvalues;
	void *gray;
	const void *code; /* struct bp_lua_prototype, or a lua_CFunction */
};

/* What a function of Lua was compiled to. */
struct bp_lua_prototype {
	void *next;
	uint8_t tag, marked, parameters, is_vararg, registers;
	int upvalue_count, constant_count, instruction_count, line_info_count, prototype_count,
		local_count, absolute_line_count, first_line, last_line;
	const void *constants;
	const uint32_t *instructions;
};

/* A call in progress. */
struct bp_lua_call {
	struct bp_lua_value *function, *top;
	struct bp_lua_call *previous, *next; /* the caller, NULL of the bottom, which is no call */
	const uint32_t *saved; /* the next instruction, if it runs a function of Lua */
};

/* What the allocator was asked for: realloc of `block`, or a new one whose kind `old_size` says. */
struct bp_lua_request {
	const void *block;
	size_t old_size, new_size;
};

/* The three ways from OP_NEWTABLE to the allocator, and the word that holds the counter on each. */
enum bp_lua_way { BP_LUA_WAY_TABLE, BP_LUA_WAY_NODES, BP_LUA_WAY_ARRAY, BP_LUA_WAYS };
struct bp_lua_place {
	bool known;
	uint8_t ahead; /* instructions that the word is ahead of OP_NEWTABLE */
	int16_t word;  /* from the frame given */
};
struct bp_lua_places {
	struct bp_lua_place way[BP_LUA_WAYS];
};

struct bp_lua_calibration;

/* NULL if the interpreter is as described above; otherwise what is not. Calls into Lua, which may
 * raise. */
const char *bp_lua_inside_check(lua_State *lua);

/* The innermost call of a thread; NULL: none. */
struct bp_lua_call *bp_lua_innermost(lua_State *lua);

/* The function of Lua that a call runs; NULL: it runs none. */
const struct bp_lua_prototype *bp_lua_prototype_of(const struct bp_lua_call *call);
/* The C function that it runs; NULL: none. */
lua_CFunction bp_lua_c_function_of(const struct bp_lua_call *call);

/* Around the running of bp_lua_calibrator, whose allocations go to bp_lua_calibrate. */
extern const char bp_lua_calibrator[];
struct bp_lua_calibration *bp_lua_calibration_begin(const void *function);
void bp_lua_calibrate(struct bp_lua_calibration *calibration, lua_State *lua,
	const struct bp_lua_request *request, const uintptr_t *frame);
void bp_lua_calibration_end(
	struct bp_lua_calibration *calibration, struct bp_lua_places *ret_places);

/* The OP_NEWTABLE that the innermost call of `lua` is at, if it is at one and that is certain;
 * otherwise NULL. `frame`: of the allocator, as at calibration. */
const uint32_t *bp_lua_table_instruction(const struct bp_lua_places *places, lua_State *lua,
	const struct bp_lua_request *request, const uintptr_t *frame);

#endif
