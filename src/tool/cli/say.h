/* SPDX-License-Identifier: MIT */
/*
 * What commands say, line by line, to people: on standard error, and doctor, control and fold on
 * standard output. The one way to a terminal for anything that comes from outside (names of files,
 * arguments, what the system says): nothing in it can steer the terminal or pretend to be a line
 * of ours (text/escape.h has the rule; reports write by it too). tests/contract/house.py holds
 * src/tool/cli to it.
 */
#ifndef BP_CLI_SAY_H
#define BP_CLI_SAY_H

#include <stdarg.h>
#include <stdio.h>

#include "base/attributes.h"
#include "text/quantity.h"

/* One line, made as by printf; the line end is added. */
BP_PRINTF(2, 3) void bp_say(FILE *out, const char *format, ...);
/* A part of a line: no line end. */
BP_PRINTF(2, 3) void bp_say_part(FILE *out, const char *format, ...);
/* The same of an argument list. */
__attribute__((format(printf, 2, 0))) void bp_say_arguments(
	FILE *out, const char *format, va_list arguments);

/* A path to standard error, as a user would type it: without the current directory, and quoted
 * where a shell would take it apart. */
void bp_say_path(const char *path);

/* By the locale of the environment. */
struct bp_quantity_style bp_quantity_style_of_locale(void);

#endif
