/* SPDX-License-Identifier: MIT */
/*
 * Names are cut from behind, one suffix after the other, as compilers put them on one after the
 * other (parse.part.0.constprop.0.cold). What is inside a name is left alone, but for Rust's crate
 * disambiguators. The symboliser has done some of this for our own traces; imported profiles bring
 * their names as some other tool wrote them.
 */
#include "model/names/stable_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

/* Suffixes of copies and pieces, with or without a number behind. */
static const char *const clone_words[] = { ".cold", ".part", ".constprop", ".isra", ".lto_priv",
	".llvm", ".localalias", ".clone", ".__uniq", ".unlikely" };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool ends_with(const char *name, size_t bytes, const char *word)
{
	size_t word_bytes = strlen(word);
	return bytes > word_bytes && memcmp(name + bytes - word_bytes, word, word_bytes) == 0;
}

/* The length without one suffix of a clone; `bytes` if there is none. */
static size_t without_clone(const char *name, size_t bytes)
{
	size_t end = bytes;
	while (end > 0 && is_digit(name[end - 1]))
		end--;
	if (end < bytes && (end == 0 || name[--end] != '.'))
		end = bytes;
	for (size_t i = 0; i < BP_COUNT(clone_words); i++)
		if (ends_with(name, end, clone_words[i]))
			return end - strlen(clone_words[i]);
	return bytes;
}

/* " [clone .isra.0]", as demanglers write the same. */
static size_t without_clone_note(const char *name, size_t bytes)
{
	static const char note[] = " [clone ";
	if (bytes == 0 || name[bytes - 1] != ']')
		return bytes;
	for (size_t at = bytes; at-- > 1;)
		if (name[at] == '[')
			return strncmp(name + at - 1, note, sizeof note - 1) == 0 ? at - 1 : bytes;
	return bytes;
}

/* "::h0123456789abcdef" */
static size_t without_rust_hash(const char *name, size_t bytes)
{
	const size_t hash_bytes = 3 + 16;
	if (bytes <= hash_bytes || memcmp(name + bytes - hash_bytes, "::h", 3) != 0)
		return bytes;
	for (size_t i = bytes - 16; i < bytes; i++)
		if (!is_digit(name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
			return bytes;
	return bytes - hash_bytes;
}

/* "@@GLIBC_2.2.5", "@LIBFOO_1": a version begins with a capital and has nothing but capitals,
 * digits, dots and underscores. ("@plt" says something and stays.) */
static size_t without_version(const char *name, size_t bytes)
{
	size_t at = bytes;
	while (at > 0 && (isupper((unsigned char)name[at - 1]) || is_digit(name[at - 1]) ||
				 name[at - 1] == '.' || name[at - 1] == '_'))
		at--;
	if (at == 0 || at == bytes || name[at - 1] != '@' || !isupper((unsigned char)name[at]))
		return bytes;
	at--;
	return at > 0 && name[at - 1] == '@' ? at - 1 : at;
}

/* Bytes of a crate disambiguator at `at`, 0: none. In mangled names "s", base 62, "_" behind a C
 * and before a length; in demangled ones "[", 8 to 16 hexadecimal digits, "]" behind a word. */
static size_t disambiguator_bytes(const char *name, size_t at, bool mangled)
{
	size_t end = at + 1;
	if (at == 0)
		return 0;
	if (mangled) {
		if (name[at] != 's' || name[at - 1] != 'C')
			return 0;
		while (isalnum((unsigned char)name[end]))
			end++;
		bool followed =
			name[end] == '_' && (is_digit(name[end + 1]) || name[end + 1] == 'u');
		return followed ? end + 1 - at : 0;
	}
	if (name[at] != '[' || !(isalnum((unsigned char)name[at - 1]) || name[at - 1] == '_'))
		return 0;
	while (is_digit(name[end]) || (name[end] >= 'a' && name[end] <= 'f'))
		end++;
	size_t digits = end - at - 1;
	return name[end] == ']' && digits >= 8 && digits <= 16 ? end + 1 - at : 0;
}

static size_t stable_bytes(const char *name)
{
	size_t bytes = strlen(name), before;
	do {
		before = bytes;
		bytes = without_clone(name, bytes);
		bytes = without_clone_note(name, bytes);
		bytes = without_rust_hash(name, bytes);
		bytes = without_version(name, bytes);
	} while (bytes != before && bytes > 0);
	return bytes;
}

void bp_stable_function_name(const char *function, char *buffer, size_t bytes)
{
	size_t end = stable_bytes(function), used = 0;
	bool mangled = strncmp(function, "_R", 2) == 0;
	for (size_t at = 0; at < end && used + 1 < bytes;) {
		size_t skipped = disambiguator_bytes(function, at, mangled);
		if (skipped > 0 && at + skipped <= end)
			at += skipped;
		else
			buffer[used++] = function[at++];
	}
	buffer[used] = '\0';
}

static bool is_version(char c)
{
	return is_digit(c) || c == '.';
}

void bp_stable_module_name(const char *path, char *buffer, size_t bytes)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
	size_t end = strlen(name), at;
	if (ends_with(name, end, deleted))
		end -= strlen(deleted);
	/* libfoo.so.1.2 and libfoo-1.2.so are libfoo.so. */
	for (at = end; at > 0 && is_version(name[at - 1]); at--)
		;
	if (at < end && name[at] == '.' && ends_with(name, at, ".so"))
		end = at;
	size_t kept = end;
	if (ends_with(name, end, ".so")) {
		for (at = end - 3; at > 0 && is_version(name[at - 1]); at--)
			;
		if (at > 1 && at < end - 3 && name[at - 1] == '-')
			kept = at - 1;
	}
	snprintf(buffer, bytes, "%.*s%s", (int)kept, name, kept < end ? ".so" : "");
}

void bp_stable_nameless(const char *module, char *buffer, size_t bytes)
{
	snprintf(buffer, bytes, "%s%s(no name)", module, *module != '\0' ? " " : "");
}
