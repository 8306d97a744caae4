/* SPDX-License-Identifier: MIT */
/*
 * Shell completions from the command tables: `bytepoll completion bash|zsh|fish` prints a script to
 * be sourced or installed. Hidden, because it is the packager's business.
 *
 * bash: one function, a case per command, another per option that takes words. zsh loads the same
 * function by bashcompinit, so that there is one script to keep right. fish has a line per option.
 */
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

static bool more(const struct bp_option *option)
{
	return option != NULL && (option->name != NULL || option->summary != NULL);
}

/* "a|b" as "a b"; "a:KEY", which only the user can end, is left out. */
static void print_choices(const char *choices)
{
	const char *space = "";
	while (*choices != '\0') {
		const size_t word = strcspn(choices, "|");
		if (memchr(choices, ':', word) == NULL) {
			printf("%s%.*s", space, (int)word, choices);
			space = " ";
		}
		choices += word + (choices[word] == '|');
	}
}

static void print_command_names(void)
{
	const char *space = "";
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf("%s%s", space, (*c)->name);
		space = " ";
	}
}

/* The words after an option of one command, when they are known. */
static void print_bash_values(const struct bp_command *command)
{
	for (const struct bp_option *o = command->options; more(o); o++) {
		if (o->name == NULL || o->argument == NULL)
			continue;
		printf("\t%s:--%s", command->name, o->name);
		if (o->letter != 0)
			printf("|%s:-%c", command->name, o->letter);
		fputs(") COMPREPLY=(", stdout);
		if (o->choices != NULL) {
			fputs("$(compgen -W '", stdout);
			print_choices(o->choices);
			fputs("' -- \"$word\")", stdout);
		} else if (o->file) {
			fputs("$(compgen -f -- \"$word\")", stdout);
		}
		fputs("); return ;;\n", stdout);
	}
}

static void print_bash_options(const struct bp_command *command)
{
	printf("\t%s) options='--help", command->name);
	for (const struct bp_option *o = command->options; more(o); o++)
		if (o->name != NULL)
			printf(" --%s", o->name);
	fputs("' ;;\n", stdout);
}

static void print_bash(void)
{
	fputs("_bytepoll()\n{\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal command=${COMP_WORDS[1]} options=\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
		stdout);
	print_command_names();
	fputs(" --help --version' -- \"$word\"))\n\t\treturn\n\tfi\n"
	      "\tcase $command:$before in\n"
	      "\thelp:help|manual:manual) COMPREPLY=($(compgen -W '",
		stdout);
	print_command_names();
	fputs("' -- \"$word\")); return ;;\n", stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (!(*c)->hidden)
			print_bash_values(*c);
	fputs("\tesac\n\tcase $command in\n", stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		if (!(*c)->hidden)
			print_bash_options(*c);
	fputs("\tesac\n"
	      "\tcase $word in\n"
	      "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	      "\t*) COMPREPLY=($(compgen -c -f -- \"$word\")) ;;\n"
	      "\tesac\n}\n"
	      "complete -o filenames -F _bytepoll bytepoll\n",
		stdout);
}

/* A text inside single quotes of fish. */
static void print_fish_text(const char *text)
{
	putchar('\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void print_fish_command(const struct bp_command *command)
{
	printf("complete -c bytepoll -n __fish_use_subcommand -f -a %s -d ", command->name);
	print_fish_text(command->summary);
	putchar('\n');
	for (const struct bp_option *o = command->options; more(o); o++) {
		if (o->name == NULL)
			continue;
		printf("complete -c bytepoll -n '__fish_seen_subcommand_from %s' -l %s",
			command->name, o->name);
		if (o->letter != 0)
			printf(" -s %c", o->letter);
		if (o->argument != NULL)
			fputs(o->file ? " -r -F" : " -x", stdout);
		if (o->choices != NULL) {
			fputs(" -a '", stdout);
			print_choices(o->choices);
			putchar('\'');
		}
		fputs(" -d ", stdout);
		print_fish_text(o->summary);
		putchar('\n');
	}
}

static int run(const struct bp_arguments *arguments)
{
	const char *shell = arguments->operand_count == 1 ? arguments->operands[0] : "";
	if (strcmp(shell, "fish") == 0) {
		for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
			if (!(*c)->hidden)
				print_fish_command(*c);
		return 0;
	}
	if (strcmp(shell, "zsh") == 0)
		fputs("#compdef bytepoll\nautoload -U +X bashcompinit && bashcompinit\n", stdout);
	else if (strcmp(shell, "bash") != 0)
		return bp_command_fail_usage(
			arguments->command, "completion takes bash, zsh or fish");
	print_bash();
	return 0;
}

const struct bp_command bp_command_completion = {
	.name = "completion",
	.summary = "print a completion script",
	.usage = "bash|zsh|fish",
	.examples = "source <(bytepoll completion bash)\n",
	.usage_status = 2,
	.hidden = true,
	.run = run,
};
