/* SPDX-License-Identifier: MIT */
/*
 * Nothing here trusts the name: positions are checked against its end, the output against its
 * bound, numbers against overflow. Punycode (RFC 3492) is decoded where it is well-formed and
 * short, and shown as it is otherwise.
 */
#include "symbols/demangle/rust_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbols/demangle/character.h"
#include "symbols/demangle/rust_v0.h"

/* rustc-demangle gives up at 500, libiberty at 1024; real names stay below 60. */
#define DEPTH_MAX 300u
/* Paths, types and constants read. The longest real names take some thousands. */
#define STEPS_MAX 100000u
/* Characters of a decoded identifier; longer ones are shown in Punycode. */
#define PUNYCODE_CHARACTERS_MAX 256u

void bp_rust_put_bytes(struct bp_rust_demangler *demangler, const char *text, size_t bytes)
{
	if (demangler->failed || demangler->silent)
		return;
	if (bytes > BP_RUST_TEXT_BYTES_MAX - demangler->written) {
		demangler->failed = true;
		return;
	}
	memcpy(demangler->output + demangler->written, text, bytes);
	demangler->written += bytes;
}

void bp_rust_put(struct bp_rust_demangler *demangler, const char *text)
{
	bp_rust_put_bytes(demangler, text, strlen(text));
}

void bp_rust_put_number(struct bp_rust_demangler *demangler, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%" PRIu64, number);
	bp_rust_put(demangler, digits);
}

char bp_rust_peek(const struct bp_rust_demangler *demangler)
{
	return demangler->at < demangler->bytes ? demangler->text[demangler->at] : '\0';
}

char bp_rust_next(struct bp_rust_demangler *demangler)
{
	if (demangler->failed || demangler->at >= demangler->bytes) {
		demangler->failed = true;
		return '\0';
	}
	return demangler->text[demangler->at++];
}

bool bp_rust_eat(struct bp_rust_demangler *demangler, char wanted)
{
	if (demangler->failed || bp_rust_peek(demangler) != wanted || wanted == '\0')
		return false;
	demangler->at++;
	return true;
}

/* Is the list at its end (which is then behind us), or lost? */
bool bp_rust_list_ends(struct bp_rust_demangler *demangler)
{
	return demangler->failed || bp_rust_eat(demangler, 'E');
}

bool bp_rust_enter(struct bp_rust_demangler *demangler)
{
	if (demangler->failed || ++demangler->steps > STEPS_MAX || demangler->depth >= DEPTH_MAX) {
		demangler->failed = true;
		return false;
	}
	demangler->depth++;
	return true;
}

int bp_rust_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

uint64_t bp_rust_base_62(struct bp_rust_demangler *demangler)
{
	uint64_t value = 0;
	if (bp_rust_eat(demangler, '_'))
		return 0;
	while (!bp_rust_eat(demangler, '_')) {
		int digit = bp_rust_digit(bp_rust_next(demangler));
		if (digit < 0 || value > (UINT64_MAX - 62) / 62) {
			demangler->failed = true;
			return 0;
		}
		value = value * 62 + (uint64_t)digit;
	}
	return value + 1;
}

/* 0 where the tag is missing. */
uint64_t bp_rust_tagged(struct bp_rust_demangler *demangler, char tag)
{
	return bp_rust_eat(demangler, tag) ? bp_rust_base_62(demangler) + 1 : 0;
}

static size_t read_decimal(struct bp_rust_demangler *demangler)
{
	size_t value = 0;
	char c = bp_rust_next(demangler);
	if (c < '0' || c > '9')
		demangler->failed = true;
	if (demangler->failed || c == '0')
		return 0;
	value = (size_t)(c - '0');
	while (bp_rust_peek(demangler) >= '0' && bp_rust_peek(demangler) <= '9') {
		value = value * 10 + (size_t)(bp_rust_next(demangler) - '0');
		if (value > demangler->bytes) {
			demangler->failed = true;
			return 0;
		}
	}
	return value;
}

struct bp_rust_identifier bp_rust_bare_identifier(struct bp_rust_demangler *demangler)
{
	struct bp_rust_identifier name = { .ascii = "" };
	bool punycode = bp_rust_eat(demangler, 'u');
	size_t bytes = read_decimal(demangler);
	bp_rust_eat(demangler, '_');
	if (demangler->failed || bytes > demangler->bytes - demangler->at) {
		demangler->failed = true;
		return name;
	}
	name.ascii = demangler->text + demangler->at;
	name.ascii_bytes = bytes;
	demangler->at += bytes;
	if (!punycode)
		return name;
	/* What follows the last '_' is coded; all of it without one. */
	name.punycode = memrchr(name.ascii, '_', bytes);
	name.punycode = name.punycode != NULL ? name.punycode + 1 : name.ascii;
	name.punycode_bytes = (size_t)(name.ascii + bytes - name.punycode);
	name.ascii_bytes = bytes - name.punycode_bytes;
	name.ascii_bytes -= name.ascii_bytes > 0;
	demangler->failed |= name.punycode_bytes == 0;
	return name;
}

struct bp_rust_identifier bp_rust_identifier(struct bp_rust_demangler *demangler)
{
	uint64_t disambiguator = bp_rust_tagged(demangler, 's');
	struct bp_rust_identifier name = bp_rust_bare_identifier(demangler);
	name.disambiguator = disambiguator;
	return name;
}

/* The state of a Punycode decoder (RFC 3492, whose names these are). */
struct punycode {
	uint32_t code[PUNYCODE_CHARACTERS_MAX];
	uint32_t count;
	uint64_t i, n, bias;
};

/* The next generalised variable-length integer, added to i; false at damage. */
static bool read_delta(const char **at, const char *end, struct punycode *state)
{
	uint64_t weight = 1;
	for (uint64_t k = 36;; k += 36) {
		uint64_t digit = 0, limit = 0;
		int value = *at < end ? bp_rust_digit(*(*at)++) : -1;
		if (value < 0 || value >= 36)
			return false;
		/* Here a to z are 0 to 25, 0 to 9 are 26 to 35. */
		digit = value >= 10 ? (uint64_t)value - 10 : (uint64_t)value + 26;
		limit = k <= state->bias ? 1 : k - state->bias;
		limit = limit > 26 ? 26 : limit;
		state->i += digit * weight;
		if (state->i > UINT32_MAX)
			return false;
		if (digit < limit)
			return true;
		weight *= 36 - limit;
		if (weight > UINT32_MAX)
			return false;
	}
}

static uint64_t adapt_bias(uint64_t delta, uint64_t characters, bool first)
{
	uint64_t k = 0;
	delta /= first ? 700 : 2;
	delta += delta / characters;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

static bool decode_punycode(const struct bp_rust_identifier *name, struct punycode *state)
{
	const char *at = name->punycode, *end = at + name->punycode_bytes;
	state->i = 0;
	state->n = 128;
	state->bias = 72;
	state->count = 0;
	if (name->ascii_bytes >= PUNYCODE_CHARACTERS_MAX)
		return false;
	while (state->count < name->ascii_bytes) {
		state->code[state->count] = (unsigned char)name->ascii[state->count];
		state->count++;
	}
	while (at < end) {
		uint64_t before = state->i;
		if (state->count >= PUNYCODE_CHARACTERS_MAX || !read_delta(&at, end, state))
			return false;
		state->count++;
		state->bias = adapt_bias(state->i - before, state->count, before == 0);
		state->n += state->i / state->count;
		state->i %= state->count;
		if (state->n > 0x10FFFF)
			return false;
		memmove(&state->code[state->i + 1], &state->code[state->i],
			(state->count - 1 - state->i) * sizeof state->code[0]);
		state->code[state->i++] = (uint32_t)state->n;
	}
	return true;
}

void bp_rust_put_identifier(
	struct bp_rust_demangler *demangler, const struct bp_rust_identifier *name)
{
	struct punycode state;
	char character[4];
	if (demangler->failed || demangler->silent)
		return;
	if (name->punycode == NULL) {
		bp_rust_put_bytes(demangler, name->ascii, name->ascii_bytes);
		return;
	}
	if (decode_punycode(name, &state)) {
		for (uint32_t i = 0; i < state.count; i++) {
			size_t bytes = bp_character_write(state.code[i], character);
			demangler->failed |= bytes == 0;
			bp_rust_put_bytes(demangler, character, bytes);
		}
		return;
	}
	bp_rust_put(demangler, "punycode{");
	bp_rust_put_bytes(demangler, name->ascii, name->ascii_bytes);
	bp_rust_put(demangler, name->ascii_bytes > 0 ? "-" : "");
	bp_rust_put_bytes(demangler, name->punycode, name->punycode_bytes);
	bp_rust_put(demangler, "}");
}

/* Behind a B: where to read instead. The caller comes back to `*ret_back`. */
bool bp_rust_follow(struct bp_rust_demangler *demangler, size_t *ret_back)
{
	size_t tag = demangler->at - 1;
	uint64_t position = bp_rust_base_62(demangler);
	if (demangler->failed || position >= tag) {
		demangler->failed = true;
		return false;
	}
	*ret_back = demangler->at;
	demangler->at = (size_t)position;
	return true;
}
