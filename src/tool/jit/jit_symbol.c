/* SPDX-License-Identifier: MIT */
/* See jit_symbol.h. */
#include "jit/jit_symbol.h"

#include <stdio.h>
#include <string.h>

/* What V8 puts before the names of functions of JavaScript. */
static const char *const script_kinds[] = {
	"JS:", "Function:", "LazyCompile:", "Script:", "Eval:"
};

/* "~" interpreted, "^" baseline, "+" and "*" optimised, with "'" for some. */
#define TIERS "~^+*'"

static const char *behind(const char *text, const char *start)
{
	const size_t bytes = strlen(start);
	return strncmp(text, start, bytes) == 0 ? text + bytes : NULL;
}

/* Where "FILE:LINE:COLUMN" or "FILE:LINE" ends at its file; NULL: it is nothing of the kind. */
static const char *end_of_file(const char *place)
{
	const char *end = place + strlen(place);
	for (int number = 0; number < 2; number++) {
		const char *digits = end;
		while (digits > place && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (digits == end || digits <= place + 1 || digits[-1] != ':')
			break;
		end = digits - 1;
	}
	return *end == ':' ? end : NULL;
}

static const char *last_part(const char *file, const char *end)
{
	const char *part = end;
	while (part > file && part[-1] != '/')
		part--;
	return part;
}

/* "makeBuffers /app/main.js:1:21" */
static void read_script(const char *text, struct bp_jit_symbol *symbol)
{
	const char *name = text + strspn(text, TIERS);
	/* "get size" is the name of a getter; files may have blanks as well. */
	const bool accessor = behind(name, "get ") != NULL || behind(name, "set ") != NULL;
	const char *blank = strchr(name + (accessor ? 4 : 0), ' ');
	const char *end = blank != NULL ? end_of_file(blank + 1) : NULL;
	symbol->function = name;
	symbol->function_bytes = blank != NULL ? (size_t)(blank - name) : strlen(name);
	if (end != NULL) {
		symbol->file = blank + 1;
		symbol->file_bytes = (size_t)(end - symbol->file);
	}
	if (symbol->function_bytes > 0)
		return;
	if (end == NULL) {
		symbol->function = "(anonymous)";
	} else {
		const char *part = last_part(symbol->file, end);
		const char *line_end = strchr(end + 1, ':');
		snprintf(symbol->made, sizeof symbol->made, "(anonymous %.*s)",
			(int)(line_end != NULL ? line_end - part : (long)strlen(part)), part);
		symbol->function = symbol->made;
	}
	symbol->function_bytes = strlen(symbol->function);
}

void bp_jit_symbol_read(const char *text, struct bp_jit_symbol *ret_symbol)
{
	*ret_symbol = (struct bp_jit_symbol){
		.function = text, .function_bytes = strlen(text), .file = ""
	};
	for (size_t i = 0; i < sizeof script_kinds / sizeof *script_kinds; i++) {
		const char *rest = behind(text, script_kinds[i]);
		if (rest != NULL) {
			read_script(rest, ret_symbol);
			return;
		}
	}
	const char *python = behind(text, "py::");
	const char *file = python != NULL ? strchr(python, ':') : NULL;
	if (file == NULL || file == python)
		return;
	ret_symbol->trampoline = true;
	ret_symbol->function = python;
	ret_symbol->function_bytes = (size_t)(file - python);
	ret_symbol->file = file + 1;
	ret_symbol->file_bytes = strlen(file + 1);
}
