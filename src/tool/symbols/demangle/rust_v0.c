/* SPDX-License-Identifier: MIT */
/*
 * A recursive descent over the grammar of RFC 2603 ("v0 Symbol Format" in The rustc book), which
 * prints while it reads. In short:
 *
 *	symbol      _R path [instantiating crate: path] [suffix, from '.' or '$' on]
 *	path        C identifier | M impl type | X impl type path | Y type path
 *	            | N namespace path identifier | I path {argument} E | B base-62
 *	impl        [s base-62] path                        (read, not shown)
 *	identifier  [s base-62] [u] decimal [_] bytes       (u: Punycode, '_' for its '-')
 *	argument    L base-62 | K constant | type
 *	type        a letter | path | R/Q/P/O/S/A/T ... | F signature | D bounds L base-62 | W pattern
 *	constant    p | B base-62 | type [n] {hex digit} _
 *	base-62     {digit | lower | upper} _               ("_" is 0, "0_" is 1 ...)
 *
 * A back-reference is a position (counted from behind _R) where the same thing stands already; it
 * is read there again and must lie before itself, so that none can be endless. A short name can
 * still unfold to 2^n parts, and, inside what is not shown, without ever filling the output: hence
 * a bound on steps besides those on depth and on output. Whatever is out of bounds, damaged or
 * unknown makes the whole name one that cannot be demangled.
 *
 * `for<'a>` binds lifetimes, which are then referred to by how many binders lie between; they are
 * shown as 'a, 'b ... by their number from the outside. Lifetime 0 is one that was erased.
 */
#include "symbols/demangle/rust_v0.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle/character.h"
#include "symbols/demangle/rust_reader.h"

#define BINDER_MAX 1000u

static void read_path(struct bp_rust_demangler *demangler, bool is_value);
static void read_type(struct bp_rust_demangler *demangler);
static void read_constant(struct bp_rust_demangler *demangler);

/* 'a for the outermost bound one; `index` counts from the inside, 0 is erased. */
static void put_lifetime(struct bp_rust_demangler *demangler, uint64_t index)
{
	char letter[3] = "'a";
	uint64_t number = 0;
	if (index > demangler->bound_lifetimes) {
		demangler->failed = true;
		return;
	}
	if (index == 0) {
		bp_rust_put(demangler, "'_");
		return;
	}
	number = demangler->bound_lifetimes - index;
	if (number < 26) {
		letter[1] = (char)('a' + number);
		bp_rust_put(demangler, letter);
		return;
	}
	bp_rust_put(demangler, "'_");
	bp_rust_put_number(demangler, number);
}

/* Opens `for<...>`; returns the number of lifetimes to unbind afterwards. */
static uint64_t open_binder(struct bp_rust_demangler *demangler)
{
	uint64_t count = bp_rust_tagged(demangler, 'G');
	if (demangler->failed || count == 0)
		return 0;
	if (count > BINDER_MAX) {
		demangler->failed = true;
		return 0;
	}
	bp_rust_put(demangler, "for<");
	for (uint64_t i = 0; i < count; i++) {
		bp_rust_put(demangler, i > 0 ? ", " : "");
		demangler->bound_lifetimes++;
		put_lifetime(demangler, 1);
	}
	bp_rust_put(demangler, "> ");
	return count;
}

static void read_argument(struct bp_rust_demangler *demangler)
{
	if (bp_rust_eat(demangler, 'L'))
		put_lifetime(demangler, bp_rust_base_62(demangler));
	else if (bp_rust_eat(demangler, 'K'))
		read_constant(demangler);
	else
		read_type(demangler);
}

static void read_arguments(struct bp_rust_demangler *demangler)
{
	for (uint32_t i = 0; !bp_rust_list_ends(demangler); i++) {
		bp_rust_put(demangler, i > 0 ? ", " : "");
		read_argument(demangler);
	}
}

static void read_nested(struct bp_rust_demangler *demangler, bool is_value)
{
	char namespace = bp_rust_next(demangler);
	struct bp_rust_identifier name;
	read_path(demangler, is_value);
	name = bp_rust_identifier(demangler);
	if (namespace >= 'A' && namespace <= 'Z') {
		const char other[2] = { namespace, '\0' };
		bp_rust_put(demangler, "::{");
		bp_rust_put(demangler, namespace == 'C'	  ? "closure"
				       : namespace == 'S' ? "shim"
							  : other);
		if (name.ascii_bytes > 0 || name.punycode != NULL) {
			bp_rust_put(demangler, ":");
			bp_rust_put_identifier(demangler, &name);
		}
		bp_rust_put(demangler, "#");
		bp_rust_put_number(demangler, name.disambiguator);
		bp_rust_put(demangler, "}");
	} else if (namespace >= 'a' && namespace <= 'z') {
		if (name.ascii_bytes > 0 || name.punycode != NULL) {
			bp_rust_put(demangler, "::");
			bp_rust_put_identifier(demangler, &name);
		}
	} else {
		demangler->failed = true;
	}
}

/* Where the implementation stands is for uniqueness; what it is for says all. */
static void skip_implementation_path(struct bp_rust_demangler *demangler)
{
	bool silent = demangler->silent;
	bp_rust_tagged(demangler, 's');
	demangler->silent = true;
	read_path(demangler, false);
	demangler->silent = silent;
}

static void read_implementation(struct bp_rust_demangler *demangler, char tag)
{
	if (tag != 'Y')
		skip_implementation_path(demangler);
	bp_rust_put(demangler, "<");
	read_type(demangler);
	if (tag != 'M') {
		bp_rust_put(demangler, " as ");
		read_path(demangler, false);
	}
	bp_rust_put(demangler, ">");
}

static void read_path(struct bp_rust_demangler *demangler, bool is_value)
{
	struct bp_rust_identifier name;
	char tag = '\0';
	size_t back = 0;
	if (!bp_rust_enter(demangler))
		return;
	tag = bp_rust_next(demangler);
	switch (tag) {
	case 'C':
		name = bp_rust_identifier(demangler);
		bp_rust_put_identifier(demangler, &name);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_implementation(demangler, tag);
		break;
	case 'N':
		read_nested(demangler, is_value);
		break;
	case 'I':
		read_path(demangler, is_value);
		bp_rust_put(demangler, is_value ? "::<" : "<");
		read_arguments(demangler);
		bp_rust_put(demangler, ">");
		break;
	case 'B':
		if (bp_rust_follow(demangler, &back)) {
			read_path(demangler, is_value);
			demangler->at = back;
		}
		break;
	default:
		demangler->failed = true;
		break;
	}
	demangler->depth--;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = { "i8", "bool", "char", "f64", "str", "f32", NULL,
		"u8", "isize", "usize", NULL, "i32", "u32", "i128", "u128", "_", NULL, NULL, "i16",
		"u16", "()", "...", NULL, "i64", "u64", "!" };
	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* extern "C-unwind": '-' is written '_'. */
static void read_calling_convention(struct bp_rust_demangler *demangler)
{
	struct bp_rust_identifier name = { .ascii = "C", .ascii_bytes = 1 };
	if (!bp_rust_eat(demangler, 'C'))
		name = bp_rust_bare_identifier(demangler);
	demangler->failed |= name.punycode != NULL || name.ascii_bytes == 0;
	bp_rust_put(demangler, "extern \"");
	for (size_t i = 0; !demangler->failed && i < name.ascii_bytes; i++)
		bp_rust_put_bytes(demangler, name.ascii[i] == '_' ? "-" : &name.ascii[i], 1);
	bp_rust_put(demangler, "\" ");
}

static void read_signature(struct bp_rust_demangler *demangler)
{
	uint64_t bound = open_binder(demangler);
	if (bp_rust_eat(demangler, 'U'))
		bp_rust_put(demangler, "unsafe ");
	if (bp_rust_eat(demangler, 'K'))
		read_calling_convention(demangler);
	bp_rust_put(demangler, "fn(");
	for (uint32_t i = 0; !bp_rust_list_ends(demangler); i++) {
		bp_rust_put(demangler, i > 0 ? ", " : "");
		read_type(demangler);
	}
	bp_rust_put(demangler, ")");
	if (!bp_rust_eat(demangler, 'u')) {
		bp_rust_put(demangler, " -> ");
		read_type(demangler);
	}
	demangler->bound_lifetimes -= bound;
}

/* A path of which the list of arguments, if it has one, is left open for bindings. */
static bool read_open_path(struct bp_rust_demangler *demangler)
{
	bool open = false;
	size_t back = 0;
	if (!bp_rust_enter(demangler))
		return false;
	if (bp_rust_eat(demangler, 'B')) {
		if (bp_rust_follow(demangler, &back)) {
			open = read_open_path(demangler);
			demangler->at = back;
		}
	} else if (bp_rust_eat(demangler, 'I')) {
		read_path(demangler, false);
		bp_rust_put(demangler, "<");
		read_arguments(demangler);
		open = true;
	} else {
		read_path(demangler, false);
	}
	demangler->depth--;
	return open;
}

static void read_dyn_trait(struct bp_rust_demangler *demangler)
{
	bool open = read_open_path(demangler);
	while (bp_rust_eat(demangler, 'p')) {
		struct bp_rust_identifier name = bp_rust_bare_identifier(demangler);
		bp_rust_put(demangler, open ? ", " : "<");
		open = true;
		bp_rust_put_identifier(demangler, &name);
		bp_rust_put(demangler, " = ");
		read_type(demangler);
	}
	bp_rust_put(demangler, open ? ">" : "");
}

static void read_dyn(struct bp_rust_demangler *demangler)
{
	uint64_t bound = 0, lifetime = 0;
	bp_rust_put(demangler, "dyn ");
	bound = open_binder(demangler);
	for (uint32_t i = 0; !bp_rust_list_ends(demangler); i++) {
		bp_rust_put(demangler, i > 0 ? " + " : "");
		read_dyn_trait(demangler);
	}
	demangler->bound_lifetimes -= bound;
	if (!bp_rust_eat(demangler, 'L'))
		demangler->failed = true;
	lifetime = bp_rust_base_62(demangler);
	if (lifetime == 0)
		return;
	bp_rust_put(demangler, " + ");
	put_lifetime(demangler, lifetime);
}

static void read_reference(struct bp_rust_demangler *demangler, bool writable)
{
	uint64_t lifetime = 0;
	bp_rust_put(demangler, "&");
	if (bp_rust_eat(demangler, 'L') && (lifetime = bp_rust_base_62(demangler)) != 0) {
		put_lifetime(demangler, lifetime);
		bp_rust_put(demangler, " ");
	}
	bp_rust_put(demangler, writable ? "mut " : "");
	read_type(demangler);
}

static void read_tuple(struct bp_rust_demangler *demangler)
{
	uint32_t count = 0;
	bp_rust_put(demangler, "(");
	for (; !bp_rust_list_ends(demangler); count++) {
		bp_rust_put(demangler, count > 0 ? ", " : "");
		read_type(demangler);
	}
	bp_rust_put(demangler, count == 1 ? ",)" : ")");
}

/* A range, or several in turn. */
static void read_pattern(struct bp_rust_demangler *demangler)
{
	if (!bp_rust_enter(demangler))
		return;
	if (bp_rust_eat(demangler, 'R')) {
		read_constant(demangler);
		bp_rust_put(demangler, "..=");
		read_constant(demangler);
	} else if (bp_rust_eat(demangler, 'O')) {
		for (uint32_t i = 0; !bp_rust_list_ends(demangler); i++) {
			bp_rust_put(demangler, i > 0 ? " | " : "");
			read_pattern(demangler);
		}
	} else {
		demangler->failed = true;
	}
	demangler->depth--;
}

static void read_array(struct bp_rust_demangler *demangler, bool has_length)
{
	bp_rust_put(demangler, "[");
	read_type(demangler);
	if (has_length) {
		bp_rust_put(demangler, "; ");
		read_constant(demangler);
	}
	bp_rust_put(demangler, "]");
}

/* The types that begin with an upper-case letter; false: it is a path. */
static bool read_built_type(struct bp_rust_demangler *demangler, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		read_reference(demangler, tag == 'Q');
		return true;
	case 'P':
	case 'O':
		bp_rust_put(demangler, tag == 'P' ? "*const " : "*mut ");
		read_type(demangler);
		return true;
	case 'A':
	case 'S':
		read_array(demangler, tag == 'A');
		return true;
	case 'T':
		read_tuple(demangler);
		return true;
	case 'F':
		read_signature(demangler);
		return true;
	case 'D':
		read_dyn(demangler);
		return true;
	case 'W':
		read_type(demangler);
		bp_rust_put(demangler, " is ");
		read_pattern(demangler);
		return true;
	default:
		return false;
	}
}

static void read_type(struct bp_rust_demangler *demangler)
{
	const char *basic = NULL;
	char tag = '\0';
	size_t back = 0;
	if (!bp_rust_enter(demangler))
		return;
	tag = bp_rust_next(demangler);
	basic = basic_type(tag);
	if (basic != NULL) {
		bp_rust_put(demangler, basic);
	} else if (tag == 'B') {
		if (bp_rust_follow(demangler, &back)) {
			read_type(demangler);
			demangler->at = back;
		}
	} else if (!demangler->failed && !read_built_type(demangler, tag)) {
		demangler->at--;
		read_path(demangler, false);
	}
	demangler->depth--;
}

/* Hex digits up to '_'; `*ret_fits` tells whether the value fits into 64 bits. */
static uint64_t read_hex(struct bp_rust_demangler *demangler, const char **ret_digits,
	size_t *ret_count, bool *ret_fits)
{
	uint64_t value = 0;
	size_t count = 0;
	while (bp_rust_eat(demangler, '0'))
		continue;
	*ret_digits = demangler->text + demangler->at;
	while (!demangler->failed && !bp_rust_eat(demangler, '_')) {
		int digit = bp_rust_digit(bp_rust_next(demangler));
		if (digit < 0 || digit > 15)
			demangler->failed = true;
		else
			value = value << 4 | (uint64_t)digit;
		count++;
	}
	*ret_count = count;
	*ret_fits = count <= 16;
	return value;
}

static void put_integer(struct bp_rust_demangler *demangler)
{
	const char *digits = NULL;
	size_t count = 0;
	bool fits = false;
	uint64_t value = read_hex(demangler, &digits, &count, &fits);
	if (fits) {
		bp_rust_put_number(demangler, value);
		return;
	}
	bp_rust_put(demangler, "0x");
	bp_rust_put_bytes(demangler, digits, count);
}

static void put_character(struct bp_rust_demangler *demangler, uint64_t code)
{
	static const char named[][2] = { { '\t', 't' }, { '\n', 'n' }, { '\r', 'r' },
		{ '\'', '\'' }, { '\\', '\\' }, { '\0', '0' } };
	char text[16] = "\\";
	size_t bytes = 0;
	if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
		demangler->failed = true;
		return;
	}
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
		if (code == (unsigned char)named[i][0]) {
			text[1] = named[i][1];
			bytes = 2;
		}
	if (bytes == 0)
		bytes = bp_character_write((uint32_t)code, text);
	if (bytes == 0)
		bytes = (size_t)snprintf(text, sizeof text, "\\u{%" PRIx64 "}", code);
	bp_rust_put(demangler, "'");
	bp_rust_put_bytes(demangler, text, bytes);
	bp_rust_put(demangler, "'");
}

static void read_value(struct bp_rust_demangler *demangler, char type)
{
	const char *digits = NULL;
	size_t count = 0;
	bool fits = false;
	uint64_t value = 0;
	if (type == '\0' || strchr("aslxnihtmyojbc", type) == NULL) {
		demangler->failed = true;
		return;
	}
	if (strchr("bc", type) == NULL) {
		if (strchr("aslxni", type) != NULL && bp_rust_eat(demangler, 'n'))
			bp_rust_put(demangler, "-");
		put_integer(demangler);
		return;
	}
	value = read_hex(demangler, &digits, &count, &fits);
	if (!fits || (type == 'b' && value > 1))
		demangler->failed = true;
	else if (type == 'b')
		bp_rust_put(demangler, value == 1 ? "true" : "false");
	else
		put_character(demangler, value);
}

static void read_constant(struct bp_rust_demangler *demangler)
{
	char tag = '\0';
	size_t back = 0;
	if (!bp_rust_enter(demangler))
		return;
	tag = bp_rust_next(demangler);
	if (tag == 'p') {
		bp_rust_put(demangler, "_");
	} else if (tag == 'B') {
		if (bp_rust_follow(demangler, &back)) {
			read_constant(demangler);
			demangler->at = back;
		}
	} else {
		read_value(demangler, tag);
	}
	demangler->depth--;
}

bool bp_is_rust_v0_name(const char *system_name)
{
	/* Behind _R a digit would be the version of a later scheme. */
	return system_name[0] == '_' && system_name[1] == 'R' && system_name[2] >= 'A' &&
	       system_name[2] <= 'Z';
}

char *bp_demangle_rust_v0(const char *system_name, size_t bytes)
{
	struct bp_rust_demangler demangler = { .text = system_name + 2 };
	char *shorter = NULL;
	if (bytes < 3 || !bp_is_rust_v0_name(system_name))
		return NULL;
	demangler.bytes = bytes - 2;
	demangler.output = malloc(BP_RUST_TEXT_BYTES_MAX + 1);
	if (demangler.output == NULL)
		return NULL;
	read_path(&demangler, true);
	demangler.silent = true;
	if (bp_rust_peek(&demangler) >= 'A' && bp_rust_peek(&demangler) <= 'Z')
		read_path(&demangler, false);
	if (demangler.failed || demangler.written == 0 ||
		(demangler.at < demangler.bytes &&
			strchr(".$", bp_rust_peek(&demangler)) == NULL)) {
		free(demangler.output);
		return NULL;
	}
	demangler.output[demangler.written] = '\0';
	shorter = realloc(demangler.output, demangler.written + 1);
	return shorter != NULL ? shorter : demangler.output;
}
