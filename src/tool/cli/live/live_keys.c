/* SPDX-License-Identifier: MIT */
/*
 * Sequences as terminals send them: ESC [ or ESC O, parameters (bytes 0x20 to 0x3f), a final byte
 * (0x40 to 0x7e). What follows an ESC and begins no such sequence is a key of its own after it. A
 * sequence that is not known is eaten whole, so that nothing of it is taken for a command.
 */
#include "cli/live/live_keys.h"

#include <string.h>

#include "text/escape.h"

#define SEQUENCE_MAX 32 /* longer ones are garbage */

static void drop(struct bp_live_keys *keys, size_t count)
{
	memmove(keys->bytes, keys->bytes + count, keys->count - count);
	keys->count -= count;
}

static uint32_t key_of(char final, int number)
{
	static const struct {
		char final;
		int number; /* where the final byte is '~' */
		uint32_t key;
	} known[] = {
		{ 'A', 0, BP_LIVE_KEY_UP },
		{ 'B', 0, BP_LIVE_KEY_DOWN },
		{ 'C', 0, BP_LIVE_KEY_RIGHT },
		{ 'D', 0, BP_LIVE_KEY_LEFT },
		{ 'H', 0, BP_LIVE_KEY_HOME },
		{ 'F', 0, BP_LIVE_KEY_END },
		{ '~', 1, BP_LIVE_KEY_HOME },
		{ '~', 4, BP_LIVE_KEY_END },
		{ '~', 7, BP_LIVE_KEY_HOME },
		{ '~', 8, BP_LIVE_KEY_END },
		{ '~', 5, BP_LIVE_KEY_PAGE_UP },
		{ '~', 6, BP_LIVE_KEY_PAGE_DOWN },
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].final == final && (final != '~' || known[i].number == number))
			return known[i].key;
	return BP_LIVE_KEY_NONE;
}

/* A sequence from ESC [ or ESC O on. */
static bool next_sequence(struct bp_live_keys *keys, bool complete, uint32_t *ret_key)
{
	int number = 0;
	for (size_t i = 2; i < keys->count && i < SEQUENCE_MAX; i++) {
		const char byte = keys->bytes[i];
		if (byte >= 0x40 && byte <= 0x7e) {
			drop(keys, i + 1);
			*ret_key = key_of(byte, number);
			return true;
		}
		if (byte >= '0' && byte <= '9' && number < 100)
			number = number * 10 + (byte - '0');
	}
	if (!complete && keys->count < SEQUENCE_MAX)
		return false;
	keys->count = 0;
	*ret_key = BP_LIVE_KEY_NONE;
	return true;
}

static bool next_character(struct bp_live_keys *keys, bool complete, uint32_t *ret_key)
{
	char text[8] = "";
	unsigned bytes;
	const size_t count = keys->count < 4 ? keys->count : 4;
	memcpy(text, keys->bytes, count);
	const unsigned char first = (unsigned char)text[0];
	const size_t wanted = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (count < wanted && !complete)
		return false;
	uint32_t key = first == 0 ? BP_LIVE_KEY_NONE : bp_utf8_next(text, &bytes);
	if (first == 0 || key == UINT32_MAX) {
		key = BP_LIVE_KEY_NONE;
		bytes = 1;
	}
	drop(keys, bytes);
	*ret_key = key == '\n' ? BP_LIVE_KEY_ENTER : key == 8 ? BP_LIVE_KEY_BACKSPACE : key;
	return true;
}

bool bp_live_keys_next(struct bp_live_keys *keys, bool complete, uint32_t *ret_key)
{
	if (keys->count == 0)
		return false;
	if (keys->bytes[0] != '\033')
		return next_character(keys, complete, ret_key);
	if (keys->count == 1 && !complete)
		return false;
	if (keys->count > 1 && (keys->bytes[1] == '[' || keys->bytes[1] == 'O'))
		return next_sequence(keys, complete, ret_key);
	drop(keys, 1);
	*ret_key = BP_LIVE_KEY_ESCAPE;
	return true;
}
