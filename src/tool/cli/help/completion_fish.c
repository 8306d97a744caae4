/* SPDX-License-Identifier: MIT */
/*
 * The script for fish: a line for each command and option. What the command is, its second word
 * says; behind PROGRAM, options are no more ours.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/completion.h"

static const char head[] =
	"# fish completion of bytepoll, as `bytepoll completion fish` prints it.\n"
	"\n"
	"function __bytepoll_is -d 'Is this the command?'\n"
	"    set -l words (commandline -opc)\n"
	"    test (count $words) -ge 2; and contains -- $words[2] $argv\n"
	"end\n"
	"\n"
	"function __bytepoll_program -d 'Where the program of run begins; fails before it'\n"
	"    set -l words (commandline -opc)\n"
	"    set -l i 3\n"
	"    while test $i -le (count $words)\n"
	"        switch $words[$i]\n"
	"            case --\n"
	"                test $i -lt (count $words); or return 1\n"
	"                math $i + 1\n"
	"                return\n"
	"            case $argv\n"
	"                set i (math $i + 1)\n"
	"            case '-*'\n"
	"            case '*'\n"
	"                echo $i\n"
	"                return\n"
	"        end\n"
	"        set i (math $i + 1)\n"
	"    end\n"
	"    return 1\n"
	"end\n"
	"\n"
	"function __bytepoll_of_program -d 'What the program of run takes'\n"
	"    set -l begin (__bytepoll_program $argv); or return\n"
	"    set -l words (commandline -opc)\n"
	"    complete -C (string join -- ' ' (string escape -- $words[$begin..-1]) (commandline "
	"-ct))\n"
	"end\n"
	"\n"
	"function __bytepoll_operands -d 'How many operands there are'\n"
	"    set -l count 0\n"
	"    set -l words (commandline -opc)\n"
	"    set -l i 3\n"
	"    while test $i -le (count $words)\n"
	"        switch $words[$i]\n"
	"            case $argv\n"
	"                set i (math $i + 1)\n"
	"            case '-*'\n"
	"            case '*'\n"
	"                set count (math $count + 1)\n"
	"        end\n"
	"        set i (math $i + 1)\n"
	"    end\n"
	"    echo $count\n"
	"end\n"
	"\n"
	"function __bytepoll_processes -d 'Processes that are being profiled'\n"
	"    set -l words (commandline -opc)\n"
	"    $words[1] completion processes 2> /dev/null\n"
	"end\n"
	"\n"
	"function __bytepoll_traces -d 'Files that are read, folders, then other files'\n"
	"    set -l word (commandline -ct)\n"
	"    set -l found (complete -C \"true $word\" | string match -r "
	"'.*(?:\\.bpt|\\.nettrace|\\.pprof|\\.pb\\.gz|/)$')\n"
	"    if test (count $found) -gt 0\n"
	"        printf '%s\\n' $found\n"
	"    else\n"
	"        __fish_complete_path $word\n"
	"    end\n"
	"end\n"
	"\n"
	"complete -c bytepoll -f\n"
	"complete -c bytepoll -n __fish_use_subcommand -s h -l help -d 'print a summary and exit'\n"
	"complete -c bytepoll -n __fish_use_subcommand -s V -l version -d 'print the version and "
	"exit'\n"
	"complete -c bytepoll -n __fish_use_subcommand -l licences -d 'print the licences of bytepoll "
	"and its parts and exit'\n";

static void print_text(const char *text)
{
	putchar('\'');
	bp_completion_print_quoted(text, "\\'", "\\");
	putchar('\'');
}

/* The options that take a word, of a command: "-o --output ...". */
static void print_takes(const struct bp_command *command)
{
	for (const struct bp_option *o = command->options; bp_completion_more(o); o++) {
		if (o->name == NULL || o->argument == NULL)
			continue;
		if (o->letter != 0)
			printf(" -%c", o->letter);
		printf(" --%s", o->name);
	}
}

/* The beginning of a line for the option, with its condition. */
static void begin_option(const struct bp_command *command, const struct bp_option *option)
{
	printf("complete -c bytepoll -n '__bytepoll_is %s", command->name);
	if (command->stops_at_operand) {
		fputs("; and not __bytepoll_program", stdout);
		print_takes(command);
		fputs(" > /dev/null", stdout);
	}
	printf("' -l %s", option->name);
	if (option->letter != 0)
		printf(" -s %c", option->letter);
	if (option->argument != NULL)
		fputs(option->file ? " -r -F" : " -x", stdout);
}

/* Its words have a line of their own: fish would show the option's description beside each of them.
 * It takes the description from the last line of an option. */
static void print_option(const struct bp_command *command, const struct bp_option *option)
{
	if (option->choices != NULL) {
		begin_option(command, option);
		fputs(" -a '", stdout);
		bp_completion_print_choices(option->choices);
		fputs("'\n", stdout);
	}
	begin_option(command, option);
	fputs(" -d ", stdout);
	print_text(option->summary);
	putchar('\n');
}

/* A line that offers `what` as an operand, under a condition on how many there are before it. */
static void offer(const struct bp_command *command, const char *condition, const char *what)
{
	printf("complete -c bytepoll -n '__bytepoll_is %s", command->name);
	if (condition != NULL) {
		fputs("; and test (__bytepoll_operands", stdout);
		print_takes(command);
		printf(") %s", condition);
	}
	printf("' -k -a '%s'\n", what);
}

static void print_program(const struct bp_command *command)
{
	printf("complete -c bytepoll -n '__bytepoll_is %s; and not __bytepoll_program",
		command->name);
	print_takes(command);
	fputs(" > /dev/null' -a '(__fish_complete_command)'\n", stdout);
	printf("complete -c bytepoll -n '__bytepoll_is %s' -a '(__bytepoll_of_program",
		command->name);
	print_takes(command);
	fputs(")'\n", stdout);
}

static void print_command(const struct bp_command *command)
{
	struct bp_operands operands;
	const char *condition;
	if (!command->hidden) {
		printf("complete -c bytepoll -n __fish_use_subcommand -a %s -d ", command->name);
		print_text(command->summary);
		putchar('\n');
	}
	for (const struct bp_option *o = command->options; bp_completion_more(o); o++)
		if (o->name != NULL)
			print_option(command, o);
	bp_completion_operands(command, &operands);
	condition = operands.many ? NULL : "-eq 0";
	if (command->stops_at_operand)
		print_program(command);
	else if (operands.programs)
		offer(command, condition, "(__fish_complete_command)");
	if (operands.processes)
		offer(command, condition, "(__bytepoll_processes)");
	if (operands.traces)
		offer(command, condition, "(__bytepoll_traces)");
	if (*operands.words != '\0')
		offer(command, "-eq 1", operands.words);
	if (*operands.then != '\0')
		offer(command, "-eq 2", operands.then);
	if (operands.commands) {
		printf("complete -c bytepoll -n '__bytepoll_is %s' -a '", command->name);
		bp_completion_print_commands();
		printf("%s%s'\n", *operands.beside != '\0' ? " " : "", operands.beside);
	}
}

void bp_completion_print_fish(void)
{
	fputs(head, stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		print_command(*c);
}
