/* SPDX-License-Identifier: MIT */
/*
 * Names of files, programs and arguments may hold anything but a zero byte: escape sequences, line
 * ends, bytes that are no UTF-8. A whole line is made first and made harmless then, so that no
 * argument of it can be forgotten; the line end is ours, and one that stood in a name is shown as
 * what it is.
 *
 * A path that is to be typed again is quoted for a shell: as it is where that is harmless, else by
 * $'...', which bash, zsh and ksh read, byte by byte.
 */
#include "cli/say.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/escape.h"

/* The widest escape of a byte is \xff; longer sequences of UTF-8 become no longer, byte for byte.
 */
#define ESCAPE_BYTES 4
#define LINE_BYTES 8192 /* where memory is short */

static void say_text(FILE *out, const char *text)
{
	char line[LINE_BYTES];
	const bool utf8 = bp_quantity_style_of_locale().utf8;
	const size_t bytes = ESCAPE_BYTES * strlen(text) + sizeof line;
	char *harmless = malloc(bytes);
	if (harmless != NULL)
		bp_terminal_text(text, utf8, UINT_MAX, harmless, bytes);
	else
		bp_terminal_text(text, utf8, UINT_MAX, line, sizeof line);
	fputs(harmless != NULL ? harmless : line, out);
	free(harmless);
}

void bp_say_arguments(FILE *out, const char *format, va_list arguments)
{
	char line[LINE_BYTES], *whole;
	va_list again;
	va_copy(again, arguments);
	if (vasprintf(&whole, format, arguments) < 0) {
		vsnprintf(line, sizeof line, format, again);
		whole = NULL;
	}
	va_end(again);
	say_text(out, whole != NULL ? whole : line);
	free(whole);
}

void bp_say(FILE *out, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bp_say_arguments(out, format, arguments);
	va_end(arguments);
	putc('\n', out);
}

void bp_say_part(FILE *out, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bp_say_arguments(out, format, arguments);
	va_end(arguments);
}

/* May all of it reach a terminal as it is? */
static bool is_harmless(const char *text, bool utf8)
{
	while (*text != '\0') {
		unsigned bytes;
		const uint32_t code = bp_utf8_next(text, &bytes);
		if (code == UINT32_MAX || bp_is_unsafe(code) || (code >= 0x80 && !utf8))
			return false;
		text += bytes;
	}
	return true;
}

static void print_bytes_quoted(const char *path)
{
	fputs("$'", stderr);
	for (; *path != '\0'; path++) {
		const unsigned char byte = (unsigned char)*path;
		if (byte == '\'' || byte == '\\')
			fprintf(stderr, "\\%c", byte);
		else if (byte >= 0x20 && byte < 0x7f)
			putc(byte, stderr);
		else
			fprintf(stderr, "\\%03o", byte); /* \x would take a digit that follows */
	}
	putc('\'', stderr);
}

void bp_say_path(const char *path)
{
	char directory[PATH_MAX];
	size_t length;
	if (getcwd(directory, sizeof directory) != NULL) {
		length = strlen(directory);
		if (strncmp(path, directory, length) == 0 && path[length] == '/')
			path += length + 1;
	}
	if (path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "/._-+,:@%=")] == '\0') {
		fputs(path, stderr);
		return;
	}
	if (!is_harmless(path, bp_quantity_style_of_locale().utf8)) {
		print_bytes_quoted(path);
		return;
	}
	putc('\'', stderr);
	for (; *path != '\0'; path++) {
		if (*path == '\'')
			fputs("'\\'", stderr);
		putc(*path, stderr);
	}
	putc('\'', stderr);
}

struct bp_quantity_style bp_quantity_style_of_locale(void)
{
	const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	struct bp_quantity_style style = { 0 };
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		const char *value = getenv(names[i]);
		if (value == NULL || *value == '\0')
			continue;
		style.utf8 =
			strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
		break;
	}
	return style;
}
