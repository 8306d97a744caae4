/* SPDX-License-Identifier: MIT */
/*
 * --help from the command tables. Lines are as wide as the terminal, within 80 and 100 columns, and
 * 80 where there is none: names on the left, what they do in one column beside them; a name too
 * wide for the column gets a line of its own.
 */
#include "cli/help/help.h"

#include <string.h>
#include <sys/ioctl.h>

#include "cli/options/options.h"

#define COLUMN 28
#define COLUMNS_LEAST 80
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
		fprintf(out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fputs("\n`bytepoll help COMMAND` tells more; `bytepoll --version` prints the version,\n"
	      "`bytepoll --version --licences` also what bytepoll and its parts are licensed under.\n",
		out);
}

static int columns_of(FILE *out)
{
	struct winsize size = { 0 };
	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < COLUMNS_LEAST)
		return COLUMNS_LEAST;
	return size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
}

/* Prints `bytes` of text whose words are parted by spaces or ends of lines, from column `used` on.
 * Where a line is full another one begins, `indent` columns to the right. */
static void print_text(FILE *out, const char *text, size_t bytes, int indent, int used)
{
	const int columns = columns_of(out);
	const char *end = text + bytes;
	bool first = true;
	while (text < end) {
		const size_t word = strcspn(text, " \n");
		if (word > 0 && !first && used + 1 + (int)word > columns)
			used = fprintf(out, "\n%*s", indent, "") - 1;
		else if (word > 0 && !first)
			used += fprintf(out, " ");
		used += fprintf(out, "%.*s", (int)word, text);
		first = first && word == 0;
		text += word + (text + word < end);
	}
	putc('\n', out);
}

/* Paragraphs are filled anew; lines that begin with a space stay as they are. */
static void print_details(FILE *out, const char *text)
{
	while (*text != '\0') {
		const char *end = text;
		while (*end != '\0' && *end != '\n' && *end != ' ') {
			end += strcspn(end, "\n");
			end += *end == '\n';
		}
		if (end > text) {
			print_text(out, text, (size_t)(end - text), 0, 0);
			text = end;
			continue;
		}
		end += strcspn(end, "\n");
		fprintf(out, "%.*s\n", (int)(end - text), text);
		text = end + (*end == '\n');
	}
}

/* "one of a|b|c", broken behind a bar where the line is full. */
static void print_choices(FILE *out, const char *choices)
{
	const int columns = columns_of(out);
	int used = fprintf(out, "  %*s  one of ", COLUMN, "");
	while (*choices != '\0') {
		size_t word = strcspn(choices, "|");
		word += choices[word] == '|';
		if (used + (int)word > columns)
			used = fprintf(out, "\n  %*s  ", COLUMN, "") - 1;
		used += fprintf(out, "%.*s", (int)word, choices);
		choices += word;
	}
	putc('\n', out);
}

static void print_option(FILE *out, const struct bp_option *option)
{
	char left[80], summary[512];
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
	snprintf(summary, sizeof summary, "%s%s%s%s%s", option->summary,
		option->repeatable ? " (repeatable)" : "", option->also != NULL ? " (or --" : "",
		option->also != NULL ? option->also : "", option->also != NULL ? ")" : "");
	print_text(out, summary, strlen(summary), COLUMN + 4, COLUMN + 4);
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

void bp_print_help(FILE *out, const struct bp_command *command)
{
	static const struct bp_option help = {
		.name = "help", .letter = 'h', .summary = "print this and exit"
	};
	const struct bp_option *option = command->options;
	fprintf(out, "bytepoll %s: %s\n\n", command->name, command->summary);
	const int used = fprintf(out, "  bytepoll %s ", command->name);
	print_text(out, command->usage, strlen(command->usage), used, used);
	if (command->details != NULL) {
		putc('\n', out);
		print_details(out, command->details);
	}
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

/* Words of other tools, and what they are here. */
static const struct {
	const char *word, *here;
} elsewhere[] = {
	{ "record", "'bytepoll run -- PROGRAM'" },
	{ "profile", "'bytepoll run -- PROGRAM'" },
	{ "start", "'bytepoll run -- PROGRAM', or 'bytepoll control PID start'" },
	{ "stop", "'bytepoll control PID stop'" },
	{ "flamegraph", "'bytepoll html FILE', or 'bytepoll export FILE --to collapsed -o -'" },
	{ "flame", "'bytepoll html FILE'" },
	{ "web", "'bytepoll html FILE'" },
	{ "gui", "'bytepoll html FILE'" },
	{ "list", "'bytepoll report --by line FILE'" },
	{ "top", "'bytepoll live PID', or 'bytepoll report FILE'" },
	{ "watch", "'bytepoll live PID'" },
	{ "stats", "'bytepoll report --stats FILE'" },
	{ "summary", "'bytepoll report --summary FILE'" },
	{ "tree", "'bytepoll report --tree FILE'" },
	{ "leaks", "'bytepoll report --growth FILE'" },
	{ "print", "'bytepoll report FILE'" },
	{ "show", "'bytepoll report FILE'" },
	{ "compare", "'bytepoll diff BASE NEW'" },
	{ "convert", "'bytepoll export FILE --to FORMAT -o OUT'" },
};

int bp_command_unknown(const char *name)
{
	const char *names[COMMANDS_MAX + 1];
	const char *near;
	int count = 0;
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (count < COMMANDS_MAX)
			names[count++] = (*c)->name;
	names[count] = NULL;
	for (size_t i = 0; i < BP_COUNT(elsewhere); i++)
		if (strcmp(name, elsewhere[i].word) == 0)
			return bp_command_fail_with(
				2, "no command '%s': try %s", name, elsewhere[i].here);
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
	.exit_statuses = "0  done\n1  failed: it could not be written, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = run,
};
