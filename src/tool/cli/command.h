/* SPDX-License-Identifier: MIT */
/*
 * A command of `bytepoll`: one const struct per file of this folder, one line in the array of
 * main.c. Its option table is data: parsing, --help, the manual page and the shell completions are
 * all made from it, so none of them can disagree (options.h has the functions).
 *
 * To add a command: write src/tool/cli/NAME.c with a `const struct bp_command bp_command_NAME`,
 * declare it below, and add it to the array in main.c and to meson.build.
 */
#ifndef BP_CLI_COMMAND_H
#define BP_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* One option. A table ends with an entry of zeros; an entry with a summary and no name is a heading
 * that groups the options after it in --help and in the manual. */
struct bp_option {
	const char *name;     /* long name without dashes */
	const char *also;     /* an older long name of the same, which still works; NULL: none */
	char letter;	      /* short form, 0: none; means the same in every command that has it */
	const char *argument; /* what it takes, as --help shows it ("SIZE"); NULL: a flag */
	const char *summary;  /* one line, no full stop */
	const char *
		/* "live|peak": the only words accepted ("label:KEY": any KEY); NULL: any */
		choices;
	bool repeatable; /* may be given more than once; otherwise the last one holds */
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

extern const struct bp_command bp_command_run;
extern const struct bp_command bp_command_report;
extern const struct bp_command bp_command_export;
extern const struct bp_command bp_command_html;
extern const struct bp_command bp_command_diff;
extern const struct bp_command bp_command_check;
extern const struct bp_command bp_command_plan;
extern const struct bp_command bp_command_verify;
extern const struct bp_command bp_command_control;
extern const struct bp_command bp_command_live;
extern const struct bp_command bp_command_fold;
extern const struct bp_command bp_command_dotnet;
extern const struct bp_command bp_command_doctor;
extern const struct bp_command bp_command_help;
extern const struct bp_command bp_command_completion;
extern const struct bp_command bp_command_manual;

/* All commands, in the order of `bytepoll --help`; NULL-terminated (main.c). */
extern const struct bp_command *const bp_commands[];

#endif
