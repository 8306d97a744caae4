/* SPDX-License-Identifier: MIT */
/*
 * Manual pages in roff from the command tables: `bytepoll manual [COMMAND]`. The build runs it and
 * installs bytepoll.1 and bytepoll-COMMAND.1; hidden, because nobody else needs it.
 */
#include <ctype.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"

/* Text of a page: backslashes and leading dots are roff's, dashes are meant as typed. */
static void print_text(const char *text)
{
	bool line_start = true;
	for (; *text != '\0'; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		line_start = *text == '\n';
	}
}

/* Paragraphs are parted by empty lines. */
static void print_paragraphs(const char *text)
{
	const char *end;
	while ((end = strstr(text, "\n\n")) != NULL) {
		char paragraph[4096];
		snprintf(paragraph, sizeof paragraph, "%.*s", (int)(end - text), text);
		print_text(paragraph);
		fputs("\n.PP\n", stdout);
		text = end + 2;
	}
	print_text(text);
	if (*text != '\0' && text[strlen(text) - 1] != '\n')
		putchar('\n');
}

static void print_heading(const char *name, const char *suffix, const char *summary)
{
	char page[64];
	snprintf(page, sizeof page, "bytepoll%s%s", *suffix ? "-" : "", suffix);
	printf(".TH ");
	for (const char *c = page; *c != '\0'; c++)
		putchar(toupper((unsigned char)*c));
	printf(" 1 \"\" \"bytepoll " BP_VERSION "\" \"bytepoll\"\n.SH NAME\n");
	print_text(name);
	fputs(" \\- ", stdout);
	print_text(summary);
	putchar('\n');
}

static void print_option(const struct bp_option *option)
{
	if (option->name == NULL) {
		printf(".SS \"%s\"\n", option->summary);
		return;
	}
	fputs(".TP\n", stdout);
	if (option->letter != 0)
		printf("\\fB\\-%c\\fR, ", option->letter);
	fputs("\\fB\\-\\-", stdout);
	print_text(option->name);
	fputs("\\fR", stdout);
	if (option->argument != NULL)
		printf(" \\fI%s\\fR", option->argument);
	putchar('\n');
	print_text(option->summary);
	if (option->choices != NULL) {
		fputs("; one of ", stdout);
		print_text(option->choices);
	}
	fputs(option->repeatable ? " (repeatable)\n" : "\n", stdout);
}

static void print_lines(const char *heading, const char *lines)
{
	if (lines == NULL)
		return;
	printf(".SH %s\n.nf\n", heading);
	print_text(lines);
	fputs(".fi\n", stdout);
}

static void print_command(const struct bp_command *command)
{
	char name[64];
	snprintf(name, sizeof name, "bytepoll-%s", command->name);
	print_heading(name, command->name, command->summary);
	printf(".SH SYNOPSIS\n\\fBbytepoll %s\\fR ", command->name);
	print_text(command->usage);
	putchar('\n');
	if (command->details != NULL) {
		fputs(".SH DESCRIPTION\n", stdout);
		print_paragraphs(command->details);
	}
	fputs(".SH OPTIONS\n", stdout);
	for (const struct bp_option *o = command->options;
		o != NULL && (o->name != NULL || o->summary != NULL); o++)
		print_option(o);
	fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint a summary and exit\n", stdout);
	print_lines("EXAMPLES", command->examples);
	print_lines("EXIT STATUS", command->exit_statuses);
	fputs(".SH SEE ALSO\n.BR bytepoll (1)\n", stdout);
}

static void print_bytepoll(void)
{
	print_heading("bytepoll", "",
		"where a program's memory goes, by sampling, with confidence intervals");
	fputs(".SH SYNOPSIS\n\\fBbytepoll\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n",
		stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf(".TP\n.BR bytepoll\\-%s (1)\n", (*c)->name);
		print_text((*c)->summary);
		putchar('\n');
	}
}

static int run(const struct bp_arguments *arguments)
{
	const struct bp_command *command;
	if (arguments->operand_count == 0) {
		print_bytepoll();
		return 0;
	}
	command = bp_command_find(arguments->operands[0]);
	if (command == NULL)
		return bp_command_unknown(arguments->operands[0]);
	print_command(command);
	return 0;
}

const struct bp_command bp_command_manual = {
	.name = "manual",
	.summary = "print a manual page in roff",
	.usage = "[COMMAND]",
	.examples = "bytepoll manual run | man -l -\n",
	.usage_status = 2,
	.hidden = true,
	.run = run,
};
