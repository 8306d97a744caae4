/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll completion bash|zsh|fish` prints a script to be sourced or installed; `bytepoll
 * completion processes` is what the scripts ask for the processes that are being profiled: a line
 * each, the pid, a tab and the name. Hidden, because both are the packager's business. See
 * completion.h.
 */
#include "cli/help/completion.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/options/options.h"
#include "cli/process/processes.h"
#include "cli/traced/traced.h"
#include "text/escape.h"

#define NAME_COLUMNS 40
#define PATIENCE_MS 1000
#define AT_ONCE 16 /* processes looked at */

bool bp_completion_more(const struct bp_option *option)
{
	return option != NULL && (option->name != NULL || option->summary != NULL);
}

void bp_completion_print_choices(const char *choices)
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

void bp_completion_print_commands(void)
{
	const char *space = "";
	for (const struct bp_command *const *c = bp_commands; *c != NULL; c++) {
		if ((*c)->hidden)
			continue;
		printf("%s%s", space, (*c)->name);
		space = " ";
	}
}

void bp_completion_print_quoted(const char *text, const char *quote, const char *special)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			fputs(quote, stdout);
			continue;
		}
		if (strchr(special, *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

/* Words that are written as they stand: "start|interval SIZE|interval auto". */
static void take_words(const char *text, struct bp_operands *operands)
{
	size_t used = 0;
	while (*text != '\0') {
		const size_t length = strcspn(text, "|");
		const size_t word = strcspn(text, " |");
		const char *second = text + word + (text[word] == ' ');
		const size_t second_length = (size_t)(text + length - second);
		char name[32];
		snprintf(name, sizeof name, "%.*s", (int)word, text);
		if (word < length && islower((unsigned char)*second)) {
			snprintf(operands->after, sizeof operands->after, "%s", name);
			snprintf(operands->then, sizeof operands->then, "%.*s", (int)second_length,
				second);
		}
		const size_t name_at = used - strlen(name);
		if (used < strlen(name) || strcmp(operands->words + name_at, name) != 0)
			used += (size_t)snprintf(operands->words + used,
				sizeof operands->words - used, "%s%s", used > 0 ? " " : "", name);
		text += length + (text[length] == '|');
	}
}

void bp_completion_operands(const struct bp_command *command, struct bp_operands *ret_operands)
{
	static const char options[] = "[options] ";
	const char *usage = command->usage;
	*ret_operands = (struct bp_operands){ 0 };
	if (strncmp(usage, options, sizeof options - 1) == 0)
		usage += sizeof options - 1;
	const size_t first = strcspn(usage, " ");
	ret_operands->programs = strstr(usage, "PROGRAM") != NULL;
	/* Those of `dotnet` are not profiled yet. */
	ret_operands->processes = strstr(usage, "PID") != NULL && !command->stops_at_operand;
	ret_operands->traces = strstr(usage, "FILE") != NULL;
	ret_operands->commands = strstr(usage, "COMMAND") != NULL;
	ret_operands->many = strstr(usage, "...") != NULL;
	const char *beside = strstr(usage, "COMMAND|");
	if (beside != NULL)
		snprintf(ret_operands->beside, sizeof ret_operands->beside, "%.*s",
			(int)strcspn(beside + 8, "]"), beside + 8);
	if (usage[first] == ' ' && islower((unsigned char)usage[first + 1]))
		take_words(usage + first + 1, ret_operands);
}

/* In a process of its own, which holds nothing of ours but the end of a pipe. */
static void tell_process(pid_t pid, int to)
{
	struct bp_traced traced;
	struct bp_error error;
	char name[NAME_COLUMNS * 16];
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(nothing, i);
	if (!bp_traced_open(pid, false, &traced, &error))
		return;
	bp_terminal_text(traced.name, true, NAME_COLUMNS, name, sizeof name);
	dprintf(to, "%ld\t%s\n", (long)traced.pid, name);
}

/* Passes on what the children write, until all have ended or the time is over. */
static void pass_on(int from)
{
	const uint64_t begin_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	for (;;) {
		char text[4096];
		struct pollfd ready = { .fd = from, .events = POLLIN };
		const uint64_t passed_ms =
			(bp_system_time_ns(CLOCK_MONOTONIC) - begin_ns) / 1000000u;
		if (passed_ms >= PATIENCE_MS ||
			poll(&ready, 1, (int)(PATIENCE_MS - passed_ms)) <= 0)
			return;
		const ssize_t got = read(from, text, sizeof text);
		if (got <= 0)
			return;
		fwrite(text, 1, (size_t)got, stdout);
	}
}

/* A process that cannot be read is left out without a word, and nothing waits for it: the maps of a
 * process can take minutes to open, and a child that waits for them may not even take a signal.
 * Such a child is left to end by itself. */
static int print_processes(void)
{
	struct bp_processes processes;
	struct bp_error error;
	if (!bp_processes_read(&processes, &error))
		return bp_command_fail(1, &error);
	fflush(stdout);
	for (uint32_t i = 0; i < processes.count; i += AT_ONCE) {
		pid_t children[AT_ONCE];
		uint32_t count = 0;
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) != 0)
			break;
		for (; count < AT_ONCE && i + count < processes.count; count++) {
			children[count] = fork();
			if (children[count] == 0) {
				tell_process(processes.items[i + count].pid, ends[1]);
				_exit(0);
			}
		}
		close(ends[1]);
		pass_on(ends[0]);
		close(ends[0]);
		for (uint32_t child = 0; child < count; child++)
			if (children[child] > 0 && waitpid(children[child], NULL, WNOHANG) == 0)
				kill(children[child], SIGKILL);
	}
	bp_processes_finish(&processes);
	return 0;
}

static int run(const struct bp_arguments *arguments)
{
	const char *what = arguments->operand_count == 1 ? arguments->operands[0] : "";
	if (strcmp(what, "processes") == 0)
		return print_processes();
	if (strcmp(what, "bash") == 0)
		bp_completion_print_bash();
	else if (strcmp(what, "zsh") == 0)
		bp_completion_print_zsh();
	else if (strcmp(what, "fish") == 0)
		bp_completion_print_fish();
	else
		return bp_command_fail_usage(
			arguments->command, "completion takes bash, zsh or fish");
	return 0;
}

const struct bp_command bp_command_completion = {
	.name = "completion",
	.summary = "print a completion script",
	.usage = "bash|zsh|fish",
	.examples = "source <(bytepoll completion bash)\n",
	.exit_statuses = "0  done\n1  failed: it could not be written, say\n2  wrong usage\n",
	.usage_status = 2,
	.hidden = true,
	.run = run,
};
