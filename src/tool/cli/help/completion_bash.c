/* SPDX-License-Identifier: MIT */
/*
 * The script for bash: data for each command (options, those that take a word, what its operands
 * are), and a function that goes by it. bash breaks words at = and :, so that `--by=th` comes as
 * three; where the user has it otherwise, it comes as one.
 */
#include <stdio.h>

#include "cli/help/completion.h"

static const char head[] =
	"# bash completion of bytepoll, as `bytepoll completion bash` prints it.\n"
	"\n"
	"# Files of these kinds and folders; any file where there is none.\n"
	"_bytepoll_files()\n{\n"
	"\tlocal kind\n"
	"\tfor kind in \"$@\"; do\n"
	"\t\tmapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -X \"!*.$kind\" -- "
	"\"$word\")\n"
	"\tdone\n"
	"\tmapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -d -- \"$word\")\n"
	"\tif [ $# -eq 0 ] || [ ${#COMPREPLY[@]} -eq 0 ]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	"\tfi\n"
	"\tcompopt -o filenames -o default 2> /dev/null\n"
	"}\n"
	"\n"
	"# Words, given as one text.\n"
	"_bytepoll_words()\n{\n"
	"\tmapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -W \"$1\" -- \"$word\")\n"
	"}\n"
	"\n"
	"# The processes that are being profiled.\n"
	"_bytepoll_processes()\n{\n"
	"\t_bytepoll_words \"$(\"${COMP_WORDS[0]}\" completion processes 2> /dev/null | cut -f "
	"1)\"\n"
	"}\n"
	"\n"
	"# A program, by its name or its path.\n"
	"_bytepoll_programs()\n{\n"
	"\tcase $word in\n"
	"\t*/* | .* | '~'*) _bytepoll_files ;;\n"
	"\t*) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -c -- \"$word\") ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# What a program takes: bash-completion knows, where there is one.\n"
	"_bytepoll_of_program()\n{\n"
	"\tif declare -F _command_offset > /dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telse\n"
	"\t\t_bytepoll_files\n"
	"\tfi\n"
	"}\n"
	"\n"
	"# Sets `options`, `takes`, `kinds` (of operands), `words`, `after`, `next` and "
	"`beside` of a command.\n"
	"_bytepoll_command()\n{\n"
	"\tcase $1 in\n";

/* Between the values of options and the operands. */
static const char body[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_bytepoll_complete()\n{\n"
	"\tlocal options= takes= kinds= words= after= next= beside= i=2 count=0 ended= first=\n"
	"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	"\t\t_bytepoll_words \"$commands --help --version --licences\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t_bytepoll_command \"$command\"\n"
	"\twhile [ \"$i\" -lt \"$COMP_CWORD\" ]; do\n"
	"\t\tcase $ended${COMP_WORDS[i]} in\n"
	"\t\t--) ended=1 ;;\n"
	"\t\t-?*)\n"
	"\t\t\tcase $takes in *\" ${COMP_WORDS[i]} \"*)\n"
	"\t\t\t\ti=$((i + 1))\n"
	"\t\t\t\t[ \"${COMP_WORDS[i]}\" = = ] && i=$((i + 1)) ;;\n"
	"\t\t\tesac ;;\n"
	"\t\t= | :) i=$((i + 1)) ;;\n"
	"\t\t*)\n"
	"\t\t\tcount=$((count + 1))\n"
	"\t\t\tfirst=${first:-$i}\n"
	"\t\t\tcase $kinds in *own*) break ;; esac ;;\n"
	"\t\tesac\n"
	"\t\ti=$((i + 1))\n"
	"\tdone\n"
	"\tcase $kinds in *own*)\n"
	"\t\tif [ \"$count\" -gt 0 ]; then\n"
	"\t\t\t_bytepoll_of_program \"$first\"\n"
	"\t\t\treturn\n"
	"\t\tfi ;;\n"
	"\tesac\n"
	"\tif [ -z \"$ended\" ]; then\n"
	"\t\t_bytepoll_value && return\n"
	"\t\tcase $word in -*) _bytepoll_words \"$options\"; return ;; esac\n"
	"\tfi\n"
	"\tif [ \"$count\" -gt 0 ] && [ -n \"$words\" ]; then\n"
	"\t\tif [ \"$count\" -eq 1 ]; then\n"
	"\t\t\t_bytepoll_words \"$words\"\n"
	"\t\telif [ \"$before\" = \"$after\" ]; then\n"
	"\t\t\t_bytepoll_words \"$next\"\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase $count:$kinds in 0:* | *many*) ;; *) return ;; esac\n"
	"\tcase $kinds in *processes*) _bytepoll_processes ;; esac\n"
	"\tcase $kinds in *commands*) _bytepoll_words \"$commands $beside\" ;; esac\n"
	"\tcase $kinds in *programs*) _bytepoll_programs ;; esac\n"
	"\tcase $kinds in *traces*) _bytepoll_files " BP_COMPLETION_TRACES " ;; esac\n"
	"}\n"
	"\n"
	"_bytepoll()\n{\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} prefix=\n"
	"\tlocal command=${COMP_WORDS[1]} commands='";

static const char foot[] = "'\n"
			   "\tCOMPREPLY=()\n"
			   "\tif [ \"$word\" = = ]; then\n"
			   "\t\tword=\n"
			   "\telif [ \"$before\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
			   "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
			   "\t\tcase $before in -*) ;; *) return ;; esac\n"
			   "\telse\n"
			   "\t\tcase $word in\n"
			   "\t\t--*=*)\n"
			   "\t\t\tbefore=${word%%=*}\n"
			   "\t\t\tprefix=$before=\n"
			   "\t\t\tword=${word#*=} ;;\n"
			   "\t\tesac\n"
			   "\tfi\n"
			   "\t_bytepoll_complete\n"
			   "\t[ -z \"$prefix\" ] || COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
			   "}\n"
			   "complete -F _bytepoll bytepoll\n";

/* What follows an option that takes a word: false in the script if it is none. */
static void print_values(const struct bp_command *command)
{
	for (const struct bp_option *o = command->options; bp_completion_more(o); o++) {
		if (o->name == NULL || o->argument == NULL || (o->choices == NULL && !o->file))
			continue;
		printf("\t%s:--%s", command->name, o->name);
		if (o->letter != 0)
			printf(" | %s:-%c", command->name, o->letter);
		if (o->choices != NULL) {
			fputs(") _bytepoll_words '", stdout);
			bp_completion_print_choices(o->choices);
			fputs("' ;;\n", stdout);
		} else {
			fputs(") _bytepoll_files ;;\n", stdout);
		}
	}
}

static void print_command(const struct bp_command *command)
{
	struct bp_operands operands;
	bp_completion_operands(command, &operands);
	printf("\t%s)\n\t\toptions='--help", command->name);
	for (const struct bp_option *o = command->options; bp_completion_more(o); o++)
		if (o->name != NULL)
			printf(" --%s", o->name);
	fputs("'\n\t\ttakes=' ", stdout);
	for (const struct bp_option *o = command->options; bp_completion_more(o); o++) {
		if (o->name == NULL || o->argument == NULL)
			continue;
		printf("--%s ", o->name);
		if (o->letter != 0)
			printf("-%c ", o->letter);
	}
	printf("'\n\t\tkinds='%s%s%s%s%s%s'", operands.programs ? "programs " : "",
		command->stops_at_operand ? "own " : "", operands.processes ? "processes " : "",
		operands.traces ? "traces " : "", operands.commands ? "commands " : "",
		operands.many ? "many" : "");
	if (*operands.words != '\0')
		printf("\n\t\twords='%s' after='%s' next='%s'", operands.words, operands.after,
			operands.then);
	if (*operands.beside != '\0')
		printf("\n\t\tbeside='%s'", operands.beside);
	fputs(" ;;\n", stdout);
}

void bp_completion_print_bash(void)
{
	fputs(head, stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		print_command(*c);
	fputs("\tesac\n}\n\n"
	      "# The word of an option; false if none is asked for.\n"
	      "_bytepoll_value()\n{\n\tcase $command:$before in\n",
		stdout);
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++)
		print_values(*c);
	/* Of another option the word is anything. */
	fputs("\t*:-*) case $takes in *\" $before \"*) ;; *) return 1 ;; esac ;;\n", stdout);
	fputs(body, stdout);
	bp_completion_print_commands();
	fputs(foot, stdout);
}
