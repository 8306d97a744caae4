/* SPDX-License-Identifier: MIT */
/*
 * The script for zsh: a call of _arguments for each command. It can stand in $fpath as _bytepoll,
 * or be sourced behind compinit.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/completion.h"

static const char head[] =
	"#compdef bytepoll\n"
	"# zsh completion of bytepoll, as `bytepoll completion zsh` prints it.\n"
	"\n"
	"_bytepoll_processes() {\n"
	"  local -a list\n"
	"  list=(${(f)\"$(_call_program processes ${(q)program} completion processes 2> "
	"/dev/null)\"})\n"
	"  list=(${${list//:/\\\\:}/$'\\t'/:})\n"
	"  _describe -t processes 'profiled process' list\n"
	"}\n"
	"\n"
	"_bytepoll_programs_or_processes() {\n"
	"  _alternative 'processes:profiled process:_bytepoll_processes' \\\n"
	"    'commands:program:_command_names -e' 'files:program:_files -g \"*(-*)\"'\n"
	"}\n"
	"\n"
	"_bytepoll_processes_or_traces() {\n"
	"  _alternative 'processes:profiled process:_bytepoll_processes' "
	"'files:trace:_bytepoll_traces'\n"
	"}\n"
	"\n"
	"_bytepoll_commands() {\n"
	"  local -a list=(\n";

/* Choices of a value: "(a b)". */
static void print_action(const struct bp_option *option)
{
	putchar(':');
	bp_completion_print_quoted(option->argument, "'\\''", ":\\");
	putchar(':');
	if (option->choices != NULL) {
		putchar('(');
		bp_completion_print_choices(option->choices);
		putchar(')');
	} else if (option->file) {
		fputs(strcmp(option->argument, "DIR") == 0 ? "_files -/" : "_files", stdout);
	} else {
		putchar(' ');
	}
}

/* One as '(-o --output)'{-o+,--output=}'[what]:FILE:_files', or as '*--limit=[what]:LIMIT: '. */
static void print_option(const struct bp_option *option)
{
	const bool takes = option->argument != NULL;
	const char *many = option->repeatable ? "*" : "";
	if (option->letter == 0)
		printf("      '%s--%s%s[", many, option->name, takes ? "=" : "");
	else if (option->repeatable)
		printf("      '*'{-%c%s,--%s%s}'[", option->letter, takes ? "+" : "", option->name,
			takes ? "=" : "");
	else
		printf("      '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name,
			option->letter, takes ? "+" : "", option->name, takes ? "=" : "");
	bp_completion_print_quoted(option->summary, "'\\''", "[]\\");
	putchar(']');
	if (takes)
		print_action(option);
	fputs("' \\\n", stdout);
}

static void print_operands(const struct bp_command *command)
{
	struct bp_operands operands;
	bp_completion_operands(command, &operands);
	const char *many = operands.many ? "*" : "1";
	if (command->stops_at_operand)
		fputs("      '(-)1:program:_command_names -e' '*::arguments:_normal'", stdout);
	else if (operands.programs)
		fputs("      '1:program or process:_bytepoll_programs_or_processes'", stdout);
	else if (operands.processes)
		fputs("      '1:process or trace:_bytepoll_processes_or_traces'", stdout);
	else if (operands.traces)
		printf("      '%s:trace:_bytepoll_traces'", many);
	else if (operands.commands && *operands.beside != '\0')
		printf("      '1:page:{_alternative commands\\:command\\:_bytepoll_commands "
		       "pages\\:page\\:\\(%s\\)}'",
			operands.beside);
	else if (operands.commands)
		fputs("      '1:command:_bytepoll_commands'", stdout);
	else
		fputs("      '1:shell:(bash zsh fish)'", stdout);
	if (*operands.words != '\0')
		printf(" \\\n      '2:action:(%s)'", operands.words);
	if (*operands.then != '\0')
		printf(" '3:what:(%s)'", operands.then);
	fputs("\n    ;;\n", stdout);
}

static void print_traces(void)
{
	char kinds[] = BP_COMPLETION_TRACES;
	for (char *c = kinds; *c != '\0'; c++)
		if (*c == ' ')
			*c = '|';
	printf("_bytepoll_traces() {\n  _files -g '*.(%s)(-.)'\n}\n\n", kinds);
}

void bp_completion_print_zsh(void)
{
	fputs(head, stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf("    '%s:", (*c)->name);
		bp_completion_print_quoted((*c)->summary, "'\\''", "\\");
		fputs("'\n", stdout);
	}
	fputs("  )\n  _describe -t commands command list\n}\n\n", stdout);
	print_traces();
	fputs("_bytepoll() {\n"
	      "  local curcontext=$curcontext state line program=$words[1]\n"
	      "  local -A opt_args\n"
	      "  _arguments -C '(- *)'{-h,--help}'[print a summary and exit]' \\\n"
	      "    '(- *)'{-V,--version}'[print the version and exit]' \\\n"
	      "    '(- *)--licences[print the licences of bytepoll and its parts and exit]' \\\n"
	      "    '1:command:_bytepoll_commands' '*::arguments:->arguments' && return\n"
	      "  [[ $state == arguments ]] || return\n"
	      "  curcontext=${curcontext%:*:*}:bytepoll-$words[1]:\n"
	      "  case $words[1] in\n",
		stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		printf("  %s)\n"
		       "    _arguments -s -S '(- *)'{-h,--help}'[print a summary and exit]' \\\n",
			(*c)->name);
		for (const struct bp_option *o = (*c)->options; bp_completion_more(o); o++)
			if (o->name != NULL)
				print_option(o);
		print_operands(*c);
	}
	fputs("  esac\n}\n\n"
	      "if [[ $funcstack[1] == _bytepoll ]]; then\n"
	      "  _bytepoll \"$@\"\n"
	      "elif (( $+functions[compdef] )); then\n"
	      "  compdef _bytepoll bytepoll\n"
	      "fi\n",
		stdout);
}
