/* SPDX-License-Identifier: MIT */
/*
 * Parsing a command line by the option table of its command (getopt_long does the work), the small
 * languages of option values, and the one way in which commands report failure. Used by main.c and
 * by every command. What else is made from the tables stands in help.h, manual.c and completion.c.
 * Not thread-safe (getopt is not).
 */
#ifndef BP_CLI_OPTIONS_OPTIONS_H
#define BP_CLI_OPTIONS_OPTIONS_H

#include <stdint.h>

#include "base/error.h"
#include "cli/command.h"

/* For main.c: parsing. */

/* Parses argv[1..] by the table of `command` (argv[0] is the command's name; argv is reordered so
 * that operands come last). -h and --help are always accepted: then `*ret_help` is true. The result
 * points into argv and is freed by bp_options_finish. */
bool bp_options_parse(const struct bp_command *command, int argc, char **argv,
	struct bp_arguments *ret_arguments, bool *ret_help, struct bp_error *error);
void bp_options_finish(struct bp_arguments *arguments);
/* Refuses an option that changes nothing beside another one that was given (`without_effect_in` of
 * its entry). */
bool bp_options_check(const struct bp_arguments *arguments, struct bp_error *error);

/* The candidate nearest to `word` if it is near enough to be a slip of the finger, or NULL.
 * `candidates` is NULL-terminated. */
const char *bp_near_miss(const char *word, const char *const *candidates);

/* For commands: reading what was given. `name` must stand in the command's table (asserted). */

/* Was the option given at all? */
bool bp_option_given(const struct bp_arguments *arguments, const char *name);
/* The value it was given last, or NULL. */
const char *bp_option_value(const struct bp_arguments *arguments, const char *name);
/* The value or, if it was not given, `otherwise`. */
const char *bp_option_value_or(
	const struct bp_arguments *arguments, const char *name, const char *otherwise);

/* A size: a plain number of bytes, or one with K, M, G or T, which are powers of 1024 (`KiB` and
 * the like too); kB, MB, GB and TB are powers of 1000, as reports print them with --si. Letters may
 * have any case, and fractions such as 1.5M or .5M are allowed. Errors name the text. */
bool bp_parse_size(const char *text, uint64_t *ret_bytes, struct bp_error *error);
/* An unsigned decimal number, or a hexadecimal one after 0x. */
bool bp_parse_number(const char *text, uint64_t *ret_number, struct bp_error *error);

/* Prints the one line `bytepoll: TEXT` to stderr and returns `status`, for `return`. */
int bp_command_fail(int status, const struct bp_error *error);
/* The same with a format instead of an error. */
BP_PRINTF(2, 3) int bp_command_fail_with(int status, const char *format, ...);
/* A usage error: the line ends with where to read more; returns the command's usage status. */
BP_PRINTF(2, 3)
int bp_command_fail_usage(const struct bp_command *command, const char *format, ...);

#endif
