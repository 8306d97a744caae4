/* SPDX-License-Identifier: MIT */
/*
 * Three schemes. Rust's newer one (_R...) is in rust_v0.c. Its older one is looked for first,
 * because it is disguised as C++: length-prefixed parts between _ZN and E, of which the last is a
 * hash and is dropped; inside a part `..` stands for `::` and `$...$` for a character. C++ is left
 * to __cxa_demangle of whichever libstdc++ is there (it is not linked: without it C++ names are
 * shown mangled). Before that the suffixes go that compilers append to their copies and pieces of a
 * function.
 *
 * Names come from files that may be hostile and may be a megabyte long: longer ones than
 * NAME_BYTES_MAX are not looked at.
 */
#include "symbols/demangle/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle/character.h"
#include "symbols/demangle/rust_v0.h"

/* libstdc++'s own demangler refuses names above 1024 bytes by default; others do not. */
#define NAME_BYTES_MAX 4096u

typedef char *demangle_function(const char *name, char *output, size_t *bytes, int *status);

static const struct {
	const char *code, *text;
} rust_escapes[] = {
	{ "SP", "@" },
	{ "BP", "*" },
	{ "RF", "&" },
	{ "LT", "<" },
	{ "GT", ">" },
	{ "LP", "(" },
	{ "RP", ")" },
	{ "C", "," },
};

/* The position behind "_ZN", or NULL. (Mach-O and some tools add or drop an underscore; ELF does
 * neither.) */
static const char *rust_path(const char *name)
{
	return strncmp(name, "_ZN", 3) == 0 ? name + 3 : NULL;
}

/* Reads one length-prefixed part; false where there is none that fits. */
static bool next_part(const char **at, const char **ret_part, size_t *ret_bytes)
{
	const char *c = *at;
	size_t bytes = 0;
	while (*c >= '0' && *c <= '9' && bytes < NAME_BYTES_MAX)
		bytes = bytes * 10 + (size_t)(*c++ - '0');
	if (c == *at || bytes == 0 || strnlen(c, bytes) < bytes)
		return false;
	*ret_part = c;
	*ret_bytes = bytes;
	*at = c + bytes;
	return true;
}

static bool is_hash(const char *part, size_t bytes)
{
	if (bytes != 17 || part[0] != 'h')
		return false;
	for (size_t i = 1; i < bytes; i++)
		if (!isdigit((unsigned char)part[i]) && !(part[i] >= 'a' && part[i] <= 'f'))
			return false;
	return true;
}

bool bp_is_rust_legacy_name(const char *system_name)
{
	const char *at = rust_path(system_name), *part = NULL;
	size_t bytes = 0;
	uint32_t parts = 0;
	if (at == NULL || strnlen(system_name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
		return false;
	while (next_part(&at, &part, &bytes))
		parts++;
	/* After the final E only a compiler's suffix (.llvm.123, .cold) may stand. */
	return parts >= 2 && is_hash(part, bytes) && at[0] == 'E' &&
	       (at[1] == '\0' || at[1] == '.');
}

/* $u7e$ and its like: the code between the dollars, in hexadecimal. */
static size_t write_unicode_escape(const char *code, size_t bytes, char *output)
{
	uint32_t value = 0;
	if (bytes < 2 || bytes > 7 || code[0] != 'u')
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if (!isxdigit((unsigned char)code[i]))
			return 0;
		value = value * 16 +
			(uint32_t)(isdigit((unsigned char)code[i])
					   ? code[i] - '0'
					   : tolower((unsigned char)code[i]) - 'a' + 10);
	}
	return bp_character_write(value, output);
}

/* Writes what `$code$` stands for; an output is never longer than its escape. 0: not an escape. */
static size_t write_escape(const char *code, size_t bytes, char *output)
{
	for (size_t i = 0; i < sizeof rust_escapes / sizeof rust_escapes[0]; i++) {
		if (strlen(rust_escapes[i].code) != bytes ||
			memcmp(rust_escapes[i].code, code, bytes) != 0)
			continue;
		output[0] = rust_escapes[i].text[0];
		return 1;
	}
	return write_unicode_escape(code, bytes, output);
}

/* Decodes one part; never writes more than it reads. */
static char *write_part(const char *part, size_t bytes, char *output)
{
	const char *end = part + bytes;
	if (bytes >= 2 && part[0] == '_' && part[1] == '$')
		part++;
	while (part < end) {
		const char *close = NULL;
		size_t written = 0;
		if (part[0] == '.' && part + 1 < end && part[1] == '.') {
			memcpy(output, "::", 2);
			output += 2;
			part += 2;
			continue;
		}
		if (part[0] == '$')
			close = memchr(part + 1, '$', (size_t)(end - part - 1));
		if (close != NULL)
			written = write_escape(part + 1, (size_t)(close - part - 1), output);
		if (written > 0) {
			output += written;
			part = close + 1;
			continue;
		}
		*output++ = *part++;
	}
	return output;
}

static char *demangle_rust(const char *name)
{
	const char *at = rust_path(name), *part = NULL;
	size_t bytes = 0;
	/* Two bytes of "::" for the at least two of each part: length digit and content. */
	char *text = malloc(2 * strlen(name) + 1), *output = text;
	if (text == NULL)
		return NULL;
	while (next_part(&at, &part, &bytes)) {
		if (is_hash(part, bytes) && *at == 'E')
			break;
		if (output != text) {
			memcpy(output, "::", 2);
			output += 2;
		}
		output = write_part(part, bytes, output);
	}
	*output = '\0';
	return text;
}

static demangle_function *cxx_demangler(void)
{
	static demangle_function *found;
	static bool looked;
	void *library = NULL, *symbol = NULL;
	if (looked)
		return found;
	looked = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library != NULL)
		symbol = dlsym(library, "__cxa_demangle");
	memcpy(&found, &symbol, sizeof found);
	return found;
}

/* Bytes of the suffix of a clone at the end of the first `bytes` bytes of a name, as .cold or
 * .part.0; 0 none. */
static size_t clone_suffix_bytes(const char *name, size_t bytes)
{
	static const char *const words[] = { ".cold", ".part", ".constprop", ".isra", ".lto_priv",
		".llvm", ".localalias", ".clone" };
	size_t digits = 0, end = bytes;
	while (end > 0 && isdigit((unsigned char)name[end - 1]))
		end--;
	digits = bytes - end;
	if (digits > 0 && (end == 0 || name[--end] != '.'))
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t word_bytes = strlen(words[i]);
		if (end > word_bytes && memcmp(name + end - word_bytes, words[i], word_bytes) == 0)
			return bytes - end + word_bytes;
	}
	return 0;
}

/* Demangles C++; NULL if that is not possible. */
static char *demangle_cxx(const char *name)
{
	demangle_function *demangle = cxx_demangler();
	int status = 0;
	char *text = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
	if (status == 0 && text != NULL && text[0] != '\0')
		return text;
	free(text);
	return NULL;
}

char *bp_demangle(const char *system_name)
{
	size_t bytes = strnlen(system_name, NAME_BYTES_MAX + 1), whole_bytes = bytes, suffix = 0;
	char *name = NULL, *text = NULL;
	if (bytes > NAME_BYTES_MAX)
		return NULL;
	if (bp_is_rust_legacy_name(system_name))
		return demangle_rust(system_name);
	if (bp_is_rust_v0_name(system_name) &&
		(text = bp_demangle_rust_v0(system_name, bytes)) != NULL)
		return text;
	while ((suffix = clone_suffix_bytes(system_name, bytes)) > 0)
		bytes -= suffix;
	if (bytes == whole_bytes && strncmp(system_name, "_Z", 2) != 0)
		return NULL;
	name = strndup(system_name, bytes);
	if (name == NULL || strncmp(name, "_Z", 2) != 0)
		return name;
	text = demangle_cxx(name);
	if (text != NULL || bytes == whole_bytes) {
		free(name);
		return text;
	}
	return name;
}
