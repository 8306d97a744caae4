/* SPDX-License-Identifier: MIT */
/*
 * Numbers of frames that were told before, by where they are: a function of Lua at an instruction,
 * or a C function called from there. Asking Lua for names and lines takes a microsecond a frame;
 * this takes some nanoseconds, and stacks are mostly those of the sample before.
 *
 * A prototype may be collected and its address used again. So the allocator asks of every block of
 * a prototype's size that is freed whether it is one that is known here (bp_lua_frames_knows: a
 * byte, by its address), and then everything is forgotten.
 *
 * Thread-safety: as the Lua state.
 */
#ifndef BP_LUA_FRAMES_H
#define BP_LUA_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inside.h"

#define BP_LUA_FRAMES 2048u
#define BP_LUA_FRAME_MARKS 512u

/* Where a frame is. `c_function`: called from there; NULL: the function of Lua itself. */
struct bp_lua_site {
	const struct bp_lua_prototype *prototype;
	const uint32_t *saved;
	lua_CFunction c_function;
};

struct bp_lua_frames {
	uint8_t marks[BP_LUA_FRAME_MARKS]; /* not 0: a prototype of such an address is known */
	struct {
		struct bp_lua_site site; /* no prototype: empty */
		uint32_t frame;
	} entries[BP_LUA_FRAMES];
};

/* The frame at a site; 0: not known. */
uint32_t bp_lua_frames_find(const struct bp_lua_frames *frames, const struct bp_lua_site *site);
void bp_lua_frames_add(
	struct bp_lua_frames *frames, const struct bp_lua_site *site, uint32_t frame);
void bp_lua_frames_forget(struct bp_lua_frames *frames);

static inline uint32_t bp_lua_frame_mark(const void *prototype)
{
	return (uint32_t)((uintptr_t)prototype >> 5) % BP_LUA_FRAME_MARKS;
}

/* May a prototype at this address be known? */
static inline bool bp_lua_frames_knows(const struct bp_lua_frames *frames, const void *prototype)
{
	return frames->marks[bp_lua_frame_mark(prototype)] != 0;
}

#endif
