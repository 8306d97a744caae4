/* SPDX-License-Identifier: MIT */
/* See frames.h. One entry for a hash: the newer replaces the older. */
#include "frames.h"

#include <string.h>

static uint32_t place_of(const struct bp_lua_site *site)
{
	uintptr_t c_function;
	memcpy(&c_function, &site->c_function, sizeof c_function);
	uint64_t hash = (uintptr_t)site->saved * 0x9e3779b97f4a7c15u;
	hash = (hash ^ c_function ^ (uintptr_t)site->prototype >> 4) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 40) % BP_LUA_FRAMES;
}

uint32_t bp_lua_frames_find(const struct bp_lua_frames *frames, const struct bp_lua_site *site)
{
	const uint32_t place = place_of(site);
	const struct bp_lua_site *have = &frames->entries[place].site;
	if (have->prototype != site->prototype || have->saved != site->saved ||
		have->c_function != site->c_function)
		return 0;
	return frames->entries[place].frame;
}

void bp_lua_frames_add(struct bp_lua_frames *frames, const struct bp_lua_site *site, uint32_t frame)
{
	const uint32_t place = place_of(site);
	frames->entries[place].site = *site;
	frames->entries[place].frame = frame;
	frames->marks[bp_lua_frame_mark(site->prototype)] = 1;
}

void bp_lua_frames_forget(struct bp_lua_frames *frames)
{
	memset(frames, 0, sizeof *frames);
}
