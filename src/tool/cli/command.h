/* SPDX-License-Identifier: MIT */
/*
 * A command of `bytepoll`: one const struct in a file of this folder, and one line in commands.h.
 * Its option table is data: parsing, --help, the manual page and the shell completions are all made
 * from it, so none of them can disagree (options.h has the functions).
 *
 * To add a command: write src/tool/cli/NAME.c with a `const struct bp_command bp_command_NAME`, and
 * add it to commands.h and to meson.build.
 */
#ifndef BP_CLI_COMMAND_H
#define BP_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/commands.h"

/* One option. A table ends with an entry of zeros; an entry with a summary and no name is a heading
 * that groups the options after it in --help and in the manual. */
struct bp_option {
	const char *name;     /* long name without dashes */
	const char *also;     /* an older long name of the same, which still works; NULL: none */
	char letter;	      /* short form, 0: none; means the same in every command that has it */
	const char *argument; /* what it takes, as --help shows it ("SIZE"); NULL: a flag */
	const char *summary;  /* one line, no full stop */
	/* "live|peak": the only words accepted ("label:KEY": any KEY); NULL: any */
	const char *choices;
	/* "json|csv": beside one of these options it would change nothing, and is refused; NULL: it
	 * always does */
	const char *without_effect_in;
	bool repeatable; /* may be given more than once, with different values */
	bool file;	 /* the argument names a file (completion) */
};

/* One option as it was given. */
struct bp_given {
	const struct bp_option *option;
	const char *value;   /* points into argv; NULL for a flag */
	int operands_before; /* how many operands stand before it */
};

struct bp_command;

/* What the command line said, after parsing. */
struct bp_arguments {
	const struct bp_command *command;
	struct bp_given *given; /* in the order given */
	int given_count;
	char **operands; /* what is no option; operands[operand_count] is NULL */
	int operand_count;
};

struct bp_command {
	const char *name;
	const char *summary; /* one line, no full stop, lower case */
	const char *usage;   /* what follows the name: "[options] FILE..." */
	const char *
		details; /* paragraphs for --help and the manual, at most 78 columns; may be NULL */
	const struct bp_option *options;
	const char *examples;	   /* lines "command\n    what it does\n"; may be NULL */
	const char *exit_statuses; /* one line each: "0  done\n" */
	int usage_status;	   /* exit status of a usage error: 2, or 125 for `run` */
	bool stops_at_operand;	   /* options end at the first operand (PROGRAM ARGS follow) */
	bool hidden;		   /* not offered by completions, no page in the manual */
	/* The exit status. Prints its own errors with bp_command_fail. */
	int (*run)(const struct bp_arguments *arguments);
};

#define BP_COMMAND_DECLARED(name) extern const struct bp_command bp_command_##name;
BP_COMMANDS(BP_COMMAND_DECLARED)
#undef BP_COMMAND_DECLARED

/* All commands, in the order of `bytepoll --help`; NULL-terminated (main.c). */
extern const struct bp_command *const bp_commands[];

#endif
