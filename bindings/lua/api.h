/* SPDX-License-Identifier: MIT */
/*
 * The interpreter's own header, and what of it an older or another Lua does not have: those
 * functions are weak, so that the module can be loaded there all the same and refuse with a
 * sentence (module.c) where the dynamic linker would say "undefined symbol".
 */
#ifndef BP_LUA_API_H
#define BP_LUA_API_H

#include <lua.h>
#include <lauxlib.h>

#define BP_LUA_WEAK(name) extern __typeof__(name) name __attribute__((weak))
/* Since 5.2. */
BP_LUA_WEAK(lua_callk);
BP_LUA_WEAK(lua_pcallk);
BP_LUA_WEAK(lua_rawgetp);
BP_LUA_WEAK(lua_rawsetp);
BP_LUA_WEAK(lua_version);
BP_LUA_WEAK(luaL_checkversion_);
BP_LUA_WEAK(luaL_loadbufferx);
BP_LUA_WEAK(luaL_setfuncs);
/* Since 5.3. */
BP_LUA_WEAK(lua_rotate);
/* Since 5.4. */
BP_LUA_WEAK(lua_newuserdatauv);

#endif
