/* SPDX-License-Identifier: MIT */
/* See names.h. Open addressing over hashes of 64 bits, which stand for what is named. */
#include "names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 4096u
#define ENTRIES_USED_MAX (ENTRIES / 4 * 3)
/* Of a chunk's name, which may be a whole program, its ends are hashed. */
#define HASHED_BYTES ((size_t)512)

struct entry {
	uint64_t key; /* 0: empty */
	char name[BP_LUA_NAME_BYTES];
};

struct bp_lua_names {
	uint32_t used;
	struct entry entries[ENTRIES];
};

struct bp_lua_names *bp_lua_names_create(void)
{
	return calloc(1, sizeof(struct bp_lua_names));
}

void bp_lua_names_destroy(struct bp_lua_names *names)
{
	free(names);
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	for (const uint8_t *at = bytes; count-- > 0; at++)
		hash = (hash ^ *at) * 0x100000001b3u;
	return hash;
}

#define HASH_BEGIN 0xcbf29ce484222325u

static uint64_t key_of_c(lua_CFunction function)
{
	return hash_bytes(HASH_BEGIN, &function, sizeof function) | 1;
}

static uint64_t key_of_lua(const lua_Debug *about)
{
	const size_t length = about->srclen;
	const size_t bytes = length < HASHED_BYTES ? length : HASHED_BYTES;
	uint64_t hash = hash_bytes(HASH_BEGIN, about->source, bytes);
	hash = hash_bytes(hash, about->source + length - bytes, bytes);
	hash = hash_bytes(hash, &length, sizeof length);
	return hash_bytes(hash, &about->linedefined, sizeof about->linedefined) | 1;
}

/* Where `key` is, or the empty place where it belongs. */
static struct entry *find(struct bp_lua_names *names, uint64_t key)
{
	uint32_t at = (uint32_t)(key >> 32) % ENTRIES;
	while (names->entries[at].key != 0 && names->entries[at].key != key)
		at = (at + 1) % ENTRIES;
	return &names->entries[at];
}

static const char *name_of(struct bp_lua_names *names, uint64_t key, const char *candidate)
{
	struct entry *entry = find(names, key);
	if (entry->key != 0)
		return entry->name;
	if (candidate == NULL || names->used >= ENTRIES_USED_MAX)
		return candidate;
	names->used++;
	entry->key = key;
	(void)snprintf(entry->name, sizeof entry->name, "%s", candidate);
	return entry->name;
}

const char *bp_lua_names_of_c(const struct bp_lua_names *names, lua_CFunction function)
{
	return name_of((struct bp_lua_names *)(uintptr_t)names, key_of_c(function), NULL);
}

const char *bp_lua_names_of_lua(
	struct bp_lua_names *names, const lua_Debug *about, const char *candidate)
{
	return name_of(names, key_of_lua(about), candidate);
}

/* The module on top of the stack: `name` is what it is called. */
static void learn_module(struct bp_lua_names *names, lua_State *lua, const char *name)
{
	char full[BP_LUA_NAME_BYTES];
	for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_settop(lua, -2)) {
		lua_CFunction function = lua_tocfunction(lua, -1);
		if (function == NULL || lua_type(lua, -2) != LUA_TSTRING)
			continue;
		const bool is_global = strcmp(name, LUA_GNAME) == 0;
		(void)snprintf(full, sizeof full, "%s%s%s", is_global ? "" : name,
			is_global ? "" : ".", lua_tolstring(lua, -2, NULL));
		(void)name_of(names, key_of_c(function), full);
	}
}

void bp_lua_names_learn(struct bp_lua_names *names, lua_State *lua)
{
	const int top = lua_gettop(lua);
	lua_getfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	if (lua_istable(lua, -1))
		for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_settop(lua, -2))
			if (lua_type(lua, -2) == LUA_TSTRING && lua_istable(lua, -1))
				learn_module(names, lua, lua_tolstring(lua, -2, NULL));
	lua_settop(lua, top);
}
