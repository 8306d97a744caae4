/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of a terminal to keys: characters, and the escape sequences of arrows and the
 * like. Pure. Used by `bytepoll live`.
 */
#ifndef BP_CLI_LIVE_LIVE_KEYS_H
#define BP_CLI_LIVE_LIVE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key that is no character; characters are their own code points below BP_KEY_FIRST. */
enum bp_live_key {
	BP_LIVE_KEY_NONE = 0, /* an unknown sequence, or bytes that are no character */
	BP_LIVE_KEY_TAB = 9,
	BP_LIVE_KEY_ENTER = 13,
	BP_LIVE_KEY_ESCAPE = 27,
	BP_LIVE_KEY_BACKSPACE = 127,
	BP_LIVE_KEY_UP = 0x200000,
	BP_LIVE_KEY_DOWN,
	BP_LIVE_KEY_LEFT,
	BP_LIVE_KEY_RIGHT,
	BP_LIVE_KEY_PAGE_UP,
	BP_LIVE_KEY_PAGE_DOWN,
	BP_LIVE_KEY_HOME,
	BP_LIVE_KEY_END
};

/* Bytes that have come and were not yet taken. Zeroed memory is empty. */
struct bp_live_keys {
	char bytes[64];
	size_t count;
};

/* Takes the next key. `complete`: nothing more came for a while, so that an ESC alone is the key
 * and not the beginning of a sequence. False: there is none, or not yet whole. */
bool bp_live_keys_next(struct bp_live_keys *keys, bool complete, uint32_t *ret_key);

#endif
