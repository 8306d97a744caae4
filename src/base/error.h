/* SPDX-License-Identifier: MIT */
/*
 * The one error style of the outside half: a function that can fail returns bool and takes a
 * `struct bp_error *` as its last parameter. On false the text says what and where, and, after a
 * second colon or dash, what to do; the command line prints it as the single line
 * `bytepoll: TEXT`. Not used inside a target process (there a failure is a counter).
 * Thread-safety: an error object belongs to its caller.
 */
#ifndef BP_BASE_ERROR_H
#define BP_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/attributes.h"

struct bp_error {
	char text[1024]; /* one line, no newline, always terminated; empty: no error */
};

/* Sets the text (truncated to fit, control characters replaced by '?') and returns false, so
 * that a caller can write `return bp_error_set(error, "...")`. A NULL error is allowed. */
BP_PRINTF(2, 3)
static inline bool bp_error_set(struct bp_error *error, const char *format, ...)
{
	va_list arguments;
	if (error == NULL)
		return false;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	for (char *c = error->text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return false;
}

#endif
