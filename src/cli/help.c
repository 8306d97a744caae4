/* SPDX-License-Identifier: MIT */
/*
 * --help from the command tables. Lines are at most 100 columns: names on the left, what they do in
 * one column beside them; a name too wide for the column gets a line of its own.
 */
#include "cli/help.h"

#include <string.h>

#include "cli/options.h"

#define COLUMN 28
#define COLUMNS_MAX 100
#define COMMANDS_MAX 32

void bp_print_overview(FILE *out)
{
	fputs("bytepoll: where a program's memory goes, by sampling, with confidence intervals\n\n"
	      "  bytepoll run -- PROGRAM ARGS     profile a program, unmodified\n"
	      "  bytepoll report FILE             show the result\n\n"
	      "Commands:\n",
		out);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (!(*c)->hidden)
			fprintf(out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fputs("\n`bytepoll help COMMAND` tells more; `bytepoll --version` prints the version.\n",
		out);
}

/* "one of a|b|c", broken behind a bar where the line is full. */
static void print_choices(FILE *out, const char *choices)
{
	int used = fprintf(out, "  %*s  one of ", COLUMN, "");
	while (*choices != '\0') {
		size_t word = strcspn(choices, "|");
		word += choices[word] == '|';
		if (used + (int)word > COLUMNS_MAX)
			used = fprintf(out, "\n  %*s  ", COLUMN, "") - 1;
		used += fprintf(out, "%.*s", (int)word, choices);
		choices += word;
	}
	putc('\n', out);
}

static void print_option(FILE *out, const struct bp_option *option)
{
	char left[80];
	int width;
	if (option->name == NULL) {
		fprintf(out, "\n%s:\n", option->summary);
		return;
	}
	width = snprintf(left, sizeof left, "%s%c%s--%s%s%s", option->letter ? "-" : " ",
		option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
		option->argument ? " " : "", option->argument ? option->argument : "");
	if (width > COLUMN)
		fprintf(out, "  %s\n  %*s  ", left, COLUMN, "");
	else
		fprintf(out, "  %-*s  ", COLUMN, left);
	fprintf(out, "%s%s", option->summary, option->repeatable ? " (repeatable)" : "");
	if (option->also != NULL)
		fprintf(out, " (or --%s)", option->also);
	putc('\n', out);
	if (option->choices != NULL)
		print_choices(out, option->choices);
}

/* Prints `text` indented by two columns, line by line. */
static void print_indented(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		fprintf(out, "%s%.*s\n", length > 0 ? "  " : "", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static bool ends_line(const char *text)
{
	return *text != '\0' && text[strlen(text) - 1] == '\n';
}

void bp_print_help(FILE *out, const struct bp_command *command)
{
	static const struct bp_option help = {
		.name = "help", .letter = 'h', .summary = "print this and exit"
	};
	const struct bp_option *option = command->options;
	fprintf(out, "bytepoll %s: %s\n\n  bytepoll %s %s\n", command->name, command->summary,
		command->name, command->usage);
	if (command->details != NULL)
		fprintf(out, "\n%s%s", command->details, ends_line(command->details) ? "" : "\n");
	if (option == NULL || option->name != NULL || option->summary == NULL)
		fputs("\nOptions:\n", out);
	for (; option != NULL && (option->name != NULL || option->summary != NULL); option++)
		print_option(out, option);
	print_option(out, &help);
	if (command->examples != NULL) {
		fputs("\nExamples:\n", out);
		print_indented(out, command->examples);
	}
	if (command->exit_statuses != NULL) {
		fputs("\nExit status:\n", out);
		print_indented(out, command->exit_statuses);
	}
}

const struct bp_command *bp_command_find(const char *name)
{
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

int bp_command_unknown(const char *name)
{
	const char *names[COMMANDS_MAX + 1];
	const char *near;
	int count = 0;
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (!(*c)->hidden && count < COMMANDS_MAX)
			names[count++] = (*c)->name;
	names[count] = NULL;
	near = bp_near_miss(name, names);
	if (near != NULL)
		return bp_command_fail_with(
			2, "no command '%s': did you mean 'bytepoll %s'?", name, near);
	return bp_command_fail_with(2, "no command '%s' (see bytepoll --help)", name);
}

static int run(const struct bp_arguments *arguments)
{
	const struct bp_command *command;
	if (arguments->operand_count == 0) {
		bp_print_overview(stdout);
		return 0;
	}
	if (arguments->operand_count > 1)
		return bp_command_fail_usage(arguments->command, "help takes one command");
	command = bp_command_find(arguments->operands[0]);
	if (command == NULL)
		return bp_command_unknown(arguments->operands[0]);
	bp_print_help(stdout, command);
	return 0;
}

const struct bp_command bp_command_help = {
	.name = "help",
	.summary = "what a command does, its options and examples",
	.usage = "[COMMAND]",
	.examples = "bytepoll help run\n",
	.usage_status = 2,
	.run = run,
};
