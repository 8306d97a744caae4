/* SPDX-License-Identifier: MIT */
/*
 * The texts of --help, made from the command tables. Used by main.c (`bytepoll`, `bytepoll --help`,
 * `bytepoll COMMAND --help`) and by the command `help`.
 */
#ifndef BP_CLI_HELP_HELP_H
#define BP_CLI_HELP_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* What bytepoll is, and its commands. */
void bp_print_overview(FILE *out);
/* Everything about one command. */
void bp_print_help(FILE *out, const struct bp_command *command);
/* The command of that name, hidden ones included, or NULL. */
const struct bp_command *bp_command_find(const char *name);
/* Prints the error line for a name that is no command, with the nearest one; returns 2. */
int bp_command_unknown(const char *name);

#endif
