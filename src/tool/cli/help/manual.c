/* SPDX-License-Identifier: MIT */
/*
 * Manual pages in roff from the command tables: `bytepoll manual [COMMAND]`; and bytepoll-trace(5),
 * which scdoc makes of docs/bytepoll-trace.5.scd and the program holds: `bytepoll manual trace`.
 * The build runs it and installs the pages; hidden, because hardly anybody else needs it.
 */
#include <ctype.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/help/manual_trace.h"
#include "cli/options/options.h"
#include "trace/format.h"

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

/* "a, b, c" of "a|b|c": words that roff can fill a line with. */
static void print_choices(const char *choices)
{
	for (; *choices != '\0'; choices++) {
		if (*choices == '|')
			fputs(", ", stdout);
		else if (*choices == '-')
			fputs("\\-", stdout);
		else
			putchar(*choices);
	}
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
		print_choices(option->choices);
	}
	fputs(option->repeatable ? " (repeatable)" : "", stdout);
	if (option->also != NULL) {
		fputs(" (or \\fB\\-\\-", stdout);
		print_text(option->also);
		fputs("\\fR)", stdout);
	}
	putchar('\n');
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
	fputs(".SH SEE ALSO\n.BR bytepoll (1),\n.BR bytepoll\\-trace (5)\n", stdout);
}

/* What belongs to no single command. */
struct entry {
	const char *name, *text;
};

static const char overview[] =
	"bytepoll records where a program's memory goes, and says how sure that is. A recorder is\n"
	"loaded into the program, unmodified; it picks bytes at random, on average one in T (the\n"
	"sampling interval: at first 64 KiB, and 512 KiB in the end, unless asked for otherwise),\n"
	"and notes the object that each belongs to, its stack, and when it is freed. Objects of "
	"T bytes and more are all recorded, and what was\n"
	"allocated in all is counted exactly.\n"
	"\n"
	"Every figure that is an estimate is shown with its confidence interval: 561 MiB +-33, or\n"
	"[644, 740] where it is lopsided. Two figures whose intervals meet may well be equal; "
	"figures\n"
	"without an interval are exact.\n"
	"\n"
	"Record with bytepoll run, look with bytepoll report --summary and bytepoll\n"
	"report, compare with bytepoll diff, guard with bytepoll check.\n";

static const struct entry files[] = {
	{ "FILE (bytepoll.PROGRAM.PID.bpt)",
		"the trace of the first process, readable by its owner only" },
	{ "FILE.d/", "the traces of the processes that it started, and their index" },
	{ "FILE.fold", "what older parts of FILE say, folded (run --max-size, bytepoll fold)" },
	{ "FILE.resident", "resident memory of the first process, ten times a second (run); "
			   "delete it and reports lack that alone" },
	{ "FILE.mappings", "what its mappings and its heap held at two looks (run), for bytepoll "
			   "report --resident" },
	{ "FILE.pages", "which pages of its memory were present at the last look (run), for the "
			"same" },
	{ "FILE.jit", "names of code that the program made as it ran, from /tmp/perf-PID.map and "
		      "jit-PID.dump (run); delete it and that code has addresses alone" },
};

static const struct entry options[] = {
	{ "-h, --help", "print a summary and exit" },
	{ "-V, --version", "print the version and exit" },
	{ "--licences",
		"print the licence of bytepoll and those of its parts, after the version, and "
		"exit" },
};

static const struct entry variables[] = {
	{ BP_ENV_OUTPUT ", " BP_ENV_INTERVAL ", " BP_ENV_SEED ", " BP_ENV_LAW,
		"for the recorder, where a program is started by others with LD_PRELOAD; see "
		"bytepoll-run(1)" },
	{ "COLUMNS", "width of reports that do not go to a terminal (80)" },
	{ "NO_COLOR",
		"not empty: no colours. There are none either where TERM is dumb or missing" },
	{ "PAGER", "what long reports are read with on a terminal (less); empty or cat: nothing" },
	{ "LESS", "options of less (FRX); of other options than these R is put before them" },
	{ "LC_ALL, LC_CTYPE, LANG", "UTF-8 or ASCII reports" },
};

static const char examples[] = "bytepoll run -o app.bpt -- ./app --port 7777\n"
			       "    record until app ends\n"
			       "bytepoll report --summary app.bpt\n"
			       "    what happened, and where to look\n"
			       "bytepoll report --metric peak --by line app.bpt\n"
			       "    the source lines behind the peak\n"
			       "bytepoll diff monday.bpt tuesday.bpt\n"
			       "    what changed, and which changes are real\n"
			       "bytepoll check --limit live=200M app.bpt\n"
			       "    a check for CI\n"
			       "bytepoll plan --heap 2G --share 5% --accuracy 10%\n"
			       "    which interval that takes\n";

static const char exit_statuses[] = "0  done\n1  failed\n2  wrong usage\n"
				    "bytepoll run and bytepoll check have their own.\n";

static void print_entries(const char *heading, const struct entry *entries, size_t count)
{
	printf(".SH %s\n", heading);
	for (size_t i = 0; i < count; i++) {
		fputs(".TP\n\\fB", stdout);
		print_text(entries[i].name);
		fputs("\\fR\n", stdout);
		print_text(entries[i].text);
		putchar('\n');
	}
}

static void print_commands(void)
{
	fputs(".SH COMMANDS\n", stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf(".TP\n.BR bytepoll\\-%s (1)\n", (*c)->name);
		print_text((*c)->summary);
		putchar('\n');
	}
}

static void print_see_also(void)
{
	const char *between = "";
	fputs(".SH SEE ALSO\n", stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf("%s.BR bytepoll\\-%s (1)", between, (*c)->name);
		between = ",\n";
	}
	printf("%s.BR bytepoll\\-trace (5)\n", between);
}

static void print_bytepoll(void)
{
	print_heading("bytepoll", "",
		"where a program's memory goes, by sampling, with confidence intervals");
	fputs(".SH SYNOPSIS\n\\fBbytepoll\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n"
	      ".SH DESCRIPTION\n",
		stdout);
	print_paragraphs(overview);
	print_commands();
	print_entries("OPTIONS", options, BP_COUNT(options));
	print_entries("FILES", files, BP_COUNT(files));
	print_entries("ENVIRONMENT", variables, BP_COUNT(variables));
	print_lines("EXAMPLES", examples);
	print_lines("EXIT STATUS", exit_statuses);
	print_see_also();
}

static int print_trace(void)
{
	const size_t bytes = (size_t)(bp_manual_trace_end - bp_manual_trace);
	if (bytes == 0)
		return bp_command_fail_with(
			1, "the page is missing: bytepoll was built without scdoc");
	fwrite(bp_manual_trace, 1, bytes, stdout);
	return 0;
}

static int refuse_page(const char *name)
{
	static const char *const pages[] = { BP_MANUAL_TRACE, NULL };
	if (bp_near_miss(name, pages) != NULL)
		return bp_command_fail_with(2,
			"no page '%s': did you mean 'bytepoll manual " BP_MANUAL_TRACE "'?", name);
	return bp_command_unknown(name);
}

static int run(const struct bp_arguments *arguments)
{
	const struct bp_command *command;
	if (arguments->operand_count == 0) {
		print_bytepoll();
		return 0;
	}
	if (arguments->operand_count > 1)
		return bp_command_fail_usage(arguments->command, "manual takes one page");
	if (strcmp(arguments->operands[0], BP_MANUAL_TRACE) == 0)
		return print_trace();
	command = bp_command_find(arguments->operands[0]);
	if (command == NULL)
		return refuse_page(arguments->operands[0]);
	print_command(command);
	return 0;
}

const struct bp_command bp_command_manual = {
	.name = "manual",
	.summary = "print a manual page in roff",
	.usage = "[COMMAND|" BP_MANUAL_TRACE "]",
	.details = "Without a word it is bytepoll(1), with " BP_MANUAL_TRACE
		   " bytepoll-trace(5): the format of traces.\n",
	.examples = "bytepoll manual run | man -l -\n    the page of a command, not installed\n"
		    "bytepoll manual trace | man -l -\n    what a trace holds\n",
	.exit_statuses = "0  done\n1  failed: it could not be written, say\n2  wrong usage\n",
	.usage_status = 2,
	.hidden = true,
	.run = run,
};
