/* SPDX-License-Identifier: MIT */
/*
 * Shell completions from the command tables: what completion.c, with one file for each shell,
 * prints a script from. Everything is read from the tables, so that no script can differ from what
 * a command takes.
 */
#ifndef BP_CLI_HELP_COMPLETION_H
#define BP_CLI_HELP_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"

/* Files that are read as they come: ours, .NET's, pprof's (docs/importers.md). They come first,
 * with folders; other files where there are none. Separated by spaces. */
#define BP_COMPLETION_TRACES "bpt nettrace pprof pb.gz"

/* What the operands of a command are, by the words of its usage. */
struct bp_operands {
	bool programs;	 /* PROGRAM; what follows is its own if options end there (run, dotnet) */
	bool processes;	 /* PID, of one that is being profiled */
	bool traces;	 /* FILE, BASE */
	bool commands;	 /* COMMAND */
	char beside[32]; /* COMMAND|word: this, too */
	bool many;	 /* any number of them, not one */
	char words[128]; /* after the first: one of these, separated by spaces */
	char after[32];	 /* and after this one of them */
	char then[32];	 /* this one */
};
void bp_completion_operands(const struct bp_command *command, struct bp_operands *ret_operands);

/* Is this an entry of an option table, not its end? Headings are. */
bool bp_completion_more(const struct bp_option *option);
/* "a|b" as "a b"; "a:KEY", which only the user can end, is left out. */
void bp_completion_print_choices(const char *choices);
/* The names of the commands that are not hidden, with spaces between them. */
void bp_completion_print_commands(void);
/* A text for the inside of single quotes, with `quote` for a quote and a backslash before each
 * character of `special`. */
void bp_completion_print_quoted(const char *text, const char *quote, const char *special);

void bp_completion_print_bash(void);
void bp_completion_print_zsh(void);
void bp_completion_print_fish(void);

#endif
