/* SPDX-License-Identifier: MIT */
/* See stack.h. */
#include "stack.h"

#include <stdio.h>
#include <string.h>

/* Threads that resume each other: Lua allows 200 (LUAI_MAXCCALLS). */
#define CHAIN_MAX 256u
/* C functions that call each other without Lua in between; the outermost are placed nowhere. */
#define WAITING_MAX 8u
#define LABEL_BYTES 192
#define FILE_SHOWN_BYTES 40

/* A C function that waits for the line of its caller. */
struct waiting {
	lua_State *thread;
	struct bp_lua_call *call;
	lua_CFunction function;
};

struct walk {
	struct bp_lua_state *state;
	uint32_t depth, waiting_count;
	bool cut;
	uint32_t frames[BP_LUA_DEPTH_MAX];
	struct waiting waiting[WAITING_MAX];
};

/* From 5.4.5 on, while a thread's stack is reallocated, what points into it are offsets. */
static bool is_moving(const struct bp_lua_call *call, const struct bp_lua_request *request)
{
	return request->block != NULL && (uintptr_t)call->function < request->old_size;
}

static bool is_active(lua_State *thread)
{
	return thread != NULL && lua_status(thread) == LUA_OK && bp_lua_innermost(thread) != NULL;
}

static bool is_among(lua_State *const *chain, uint32_t count, const lua_State *thread)
{
	for (uint32_t i = 0; i < count; i++)
		if (chain[i] == thread)
			return true;
	return false;
}

/* The thread that the innermost call of the last thread in the chain has resumed; NULL: none. */
static lua_State *resumed_by_last(
	lua_State *const *chain, uint32_t count, const struct bp_lua_request *request)
{
	lua_State *thread = chain[count - 1];
	const struct bp_lua_call *call = bp_lua_innermost(thread);
	if (call == NULL || is_moving(call, request) || bp_lua_c_function_of(call) == NULL)
		return NULL;
	lua_State *argument = lua_tothread(thread, 1);
	if (is_active(argument) && !is_among(chain, count, argument))
		return argument;
	if (call->function->tag != BP_LUA_TAG_C_CLOSURE)
		return NULL;
	lua_State *upvalue = lua_tothread(thread, lua_upvalueindex(1));
	return is_active(upvalue) && !is_among(chain, count, upvalue) ? upvalue : NULL;
}

static void add_frame(struct walk *walk, uint32_t frame)
{
	if (frame != 0 && walk->depth < BP_LUA_DEPTH_MAX)
		walk->frames[walk->depth++] = frame;
	else
		walk->cut = true;
}

/* Not where frees of prototypes could not be told. */
static void remember(struct walk *walk, const struct bp_lua_site *site, uint32_t frame)
{
	if (walk->state->prototype_bytes != 0)
		bp_lua_frames_add(&walk->state->frames, site, frame);
}

/* By what name the call was made, with "n" in `about`. */
static void called_name(const lua_Debug *about, char *to)
{
	const bool is_metamethod = strcmp(about->namewhat, "metamethod") == 0;
	(void)snprintf(
		to, BP_LUA_NAME_BYTES, "%s%s", is_metamethod ? "metamethod " : "", about->name);
}

static uint32_t tell_c_function(
	struct walk *walk, const struct waiting *waiting, const char *file, uint32_t line)
{
	char called[BP_LUA_NAME_BYTES] = "C function";
	const char *name = bp_lua_names_of_c(walk->state->names, waiting->function);
	if (name == NULL) {
		lua_Debug about = { .i_ci = (struct CallInfo *)waiting->call };
		(void)lua_getinfo(waiting->thread, "n", &about);
		if (about.name != NULL)
			called_name(&about, called);
		name = called;
	}
	return bp_host_frame(walk->state->host, name, file, line);
}

/* Of C functions that no function of Lua called. */
static void add_waiting_nowhere(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->waiting_count; i++)
		add_frame(walk, tell_c_function(walk, &walk->waiting[i], "[C]", 0));
	walk->waiting_count = 0;
}

static void add_c_function(struct walk *walk, lua_State *thread, struct bp_lua_call *call)
{
	if (walk->waiting_count == WAITING_MAX)
		add_waiting_nowhere(walk);
	walk->waiting[walk->waiting_count++] =
		(struct waiting){ thread, call, bp_lua_c_function_of(call) };
}

/* `name <file:line>`, the file without folders. */
static void make_label(char *label, const char *name, const lua_Debug *about, const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *shown = slash != NULL && slash[1] != '\0' ? slash + 1 : file;
	if (strcmp(about->what, "main") == 0)
		(void)snprintf(label, LABEL_BYTES, "main chunk <%.*s>", FILE_SHOWN_BYTES, shown);
	else
		(void)snprintf(label, LABEL_BYTES, "%s <%.*s:%d>", name, FILE_SHOWN_BYTES, shown,
			about->linedefined);
}

/* The function of Lua at `site`, and before it the C functions that it called. */
static void tell_lua_function(
	struct walk *walk, lua_State *thread, struct bp_lua_call *call, struct bp_lua_site *site)
{
	lua_Debug about = { .i_ci = (struct CallInfo *)call };
	char label[LABEL_BYTES], called[BP_LUA_NAME_BYTES] = "function";
	(void)lua_getinfo(thread, "Sl", &about);
	const bool is_named = about.source[0] == '@' || about.source[0] == '=';
	const char *file = is_named ? about.source + 1 : about.short_src;
	const uint32_t line = about.currentline > 0 ? (uint32_t)about.currentline : 0;
	for (uint32_t i = 0; i < walk->waiting_count; i++) {
		const uint32_t frame = tell_c_function(walk, &walk->waiting[i], file, line);
		site->c_function = walk->waiting[i].function;
		remember(walk, site, frame);
		add_frame(walk, frame);
	}
	const char *name = bp_lua_names_of_lua(walk->state->names, &about, NULL);
	if (name == NULL) {
		(void)lua_getinfo(thread, "n", &about);
		if (about.name != NULL)
			called_name(&about, called);
		name = bp_lua_names_of_lua(walk->state->names, &about, called);
	}
	make_label(label, name, &about, file);
	const uint32_t frame = bp_host_frame(walk->state->host, label, file, line);
	site->c_function = NULL;
	remember(walk, site, frame);
	add_frame(walk, frame);
}

/* The same if all of them were told before. */
static bool add_known(struct walk *walk, struct bp_lua_site *site)
{
	uint32_t known[WAITING_MAX + 1], count = 0;
	for (uint32_t i = 0; i <= walk->waiting_count; i++) {
		site->c_function = i < walk->waiting_count ? walk->waiting[i].function : NULL;
		const uint32_t frame = bp_lua_frames_find(&walk->state->frames, site);
		if (frame == 0)
			return false;
		known[count++] = frame;
	}
	for (uint32_t i = 0; i < count; i++)
		add_frame(walk, known[i]);
	return true;
}

static void add_lua_function(struct walk *walk, lua_State *thread, struct bp_lua_call *call)
{
	struct bp_lua_site site = { .prototype = bp_lua_prototype_of(call), .saved = call->saved };
	if (!add_known(walk, &site))
		tell_lua_function(walk, thread, call, &site);
	walk->waiting_count = 0;
}

/* False: the stack of this thread cannot be read now. */
static bool add_thread(struct walk *walk, lua_State *thread, const struct bp_lua_request *request)
{
	for (struct bp_lua_call *call = bp_lua_innermost(thread);
		call != NULL && call->previous != NULL && !walk->cut; call = call->previous) {
		if (is_moving(call, request))
			return false;
		if (bp_lua_prototype_of(call) != NULL)
			add_lua_function(walk, thread, call);
		else if (bp_lua_c_function_of(call) != NULL)
			add_c_function(walk, thread, call);
	}
	return true;
}

uint32_t bp_lua_stack(
	struct bp_lua_state *state, const struct bp_lua_request *request, const uintptr_t *frame)
{
	lua_State *chain[CHAIN_MAX];
	struct walk walk;
	walk.state = state;
	walk.depth = walk.waiting_count = 0;
	walk.cut = false;
	uint32_t count = 0;
	for (lua_State *next = state->main; next != NULL && count < CHAIN_MAX;
		next = resumed_by_last(chain, count, request))
		chain[count++] = next;

	/* While a table is made, the counter that the call has stored is an older one: see
	 * inside.h. */
	struct bp_lua_call *innermost = bp_lua_innermost(chain[count - 1]);
	const uint32_t *stored = NULL, *table = NULL;
	if (innermost != NULL && !is_moving(innermost, request))
		table = bp_lua_table_instruction(&state->places, chain[count - 1], request, frame);
	if (table != NULL) {
		stored = innermost->saved;
		innermost->saved = table + 1;
	}
	while (count > 0 && !walk.cut && add_thread(&walk, chain[count - 1], request))
		count--;
	add_waiting_nowhere(&walk);
	if (table != NULL)
		innermost->saved = stored;
	return bp_host_stack(state->host, walk.frames, walk.depth, walk.cut || count > 0);
}
