/* SPDX-License-Identifier: MIT */
/*
 * Entry of `bytepoll`: the array of commands, and the few words that are no command (--help,
 * --version, --licences). Everything a command needs is in its own file; a new command is one line
 * here.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/help/licences.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/options.h"
#include "cli/options/symbol_options.h"

#define ENTRY(name) &bp_command_##name,

const struct bp_command *const bp_commands[] = { BP_COMMANDS(ENTRY) NULL };

/* Output that did not arrive (a full disk) must not look like success. */
static int finish_output(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return bp_command_fail_with(
			status == 0 ? 1 : status, "standard output cannot be written: %m");
	return status;
}

static int run_command(const struct bp_command *command, int argc, char **argv)
{
	struct bp_arguments arguments;
	struct bp_error error = { 0 };
	bool help;
	int status = 0;
	if (!bp_options_parse(command, argc, argv, &arguments, &help, &error))
		return bp_command_fail_usage(command, "%s", error.text);
	if (help)
		bp_print_help(stdout, command);
	else if (!bp_options_check(&arguments, &error) ||
		 !bp_symbol_options_take(&arguments, &error) ||
		 !bp_allocator_options_take(&arguments, &error) ||
		 !bp_frame_options_take(&arguments, &error))
		status = bp_command_fail_usage(command, "%s", error.text);
	else
		status = command->run(&arguments);
	bp_options_finish(&arguments);
	return status;
}

/* An option that stands where a command should. */
static int refuse_option(const char *word)
{
	static const char *const known[] = { "--help", "--version", "--licences", NULL };
	const char *near = bp_near_miss(word, known);
	if (near != NULL)
		return bp_command_fail_with(2, "no option '%s': did you mean %s?", word, near);
	return bp_command_fail_with(
		2, "no option '%s' before a command (see bytepoll --help)", word);
}

/* `bytepoll version` and `-v` are what users of other programs type. */
static bool is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	       strcmp(word, "-v") == 0 || strcmp(word, "version") == 0;
}

static bool is_licences(const char *word)
{
	return strcmp(word, "--licences") == 0 || strcmp(word, "--licenses") == 0;
}

/* `bytepoll --version --licences`, or either of the two. */
static int print_version(int argc, char **argv)
{
	bool licences = false;
	for (int i = 1; i < argc; i++) {
		if (is_licences(argv[i]))
			licences = true;
		else if (!is_version(argv[i]))
			return bp_command_fail_with(
				2, "'%s' has no effect beside --version", argv[i]);
	}
	puts("bytepoll " BP_VERSION);
	if (licences) {
		putchar('\n');
		fwrite(bp_licences, 1, (size_t)(bp_licences_end - bp_licences), stdout);
	}
	return finish_output(0);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";
	const struct bp_command *command;
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		bp_print_overview(stdout);
		return finish_output(0);
	}
	if (is_version(word) || is_licences(word))
		return print_version(argc, argv);
	if (word[0] == '-')
		return refuse_option(word);
	command = bp_command_find(word);
	if (command == NULL)
		return bp_command_unknown(word);
	return finish_output(run_command(command, argc - 1, argv + 1));
}
