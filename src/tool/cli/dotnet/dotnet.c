/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll dotnet`: records the sampled allocations of a .NET program, one that runs (PID) or one
 * that is started for it, into a .nettrace file that every tool for such files reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/dotnet/dotnet_record.h"
#include "cli/files/output_file.h"
#include "cli/input.h"
#include "cli/options/options.h"
#include "cli/options/query_options.h"
#include "cli/run/program_end.h"
#include "cli/say.h"
#include "text/quantity.h"

#define BUFFER_MIB_DEFAULT 256u
#define BUFFER_MIB_MAX 4096u
#define INDENT "          " /* under the text after "bytepoll: " */

struct request {
	const struct bp_arguments *arguments;
	pid_t pid; /* 0: a program is to be started */
	char path[PATH_MAX];
	bool made;		     /* the file at `path` is ours */
	struct bp_set_aside earlier; /* what was there before (--force) */
	struct bp_dotnet_plan plan;
};

/* The operand is a process if it is a number and stands alone. */
static pid_t pid_of(const struct bp_arguments *arguments)
{
	const char *word = arguments->operands[0];
	if (arguments->operand_count != 1 || word[strspn(word, "0123456789")] != '\0' ||
		strlen(word) > 9)
		return 0;
	return (pid_t)atol(word);
}

static bool read_options(struct request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	uint64_t buffer = BUFFER_MIB_DEFAULT;
	bool given;
	if (!bp_option_time(arguments, "duration", &given, &request->plan.duration_ns, error))
		return false;
	if (given && request->plan.duration_ns == 0)
		return bp_error_set(error, "--duration 0: nothing would be recorded");
	if (bp_option_given(arguments, "buffer") &&
		!bp_option_number(arguments, "buffer", BUFFER_MIB_MAX, &buffer, error))
		return false;
	if (buffer == 0)
		return bp_error_set(error, "--buffer 0: the runtime needs at least 1 MiB");
	request->plan.request =
		bp_dotnet_collect((uint32_t)buffer, !bp_option_given(arguments, "no-rundown"));
	request->plan.quiet = bp_option_given(arguments, "quiet");
	return true;
}

/* What the kernel calls a process. */
static void name_of_process(pid_t pid, char *to, size_t capacity)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
	FILE *file = fopen(path, "re");
	if (file != NULL && fgets(to, (int)capacity, file) != NULL)
		to[strcspn(to, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
}

/* bp_dotnet_plan.open_file */
static int open_output(void *context, pid_t pid, struct bp_error *error)
{
	struct request *request = context;
	const char *given = bp_option_value(request->arguments, "output");
	char comm[64] = "";
	if (request->pid != 0)
		name_of_process(pid, comm, sizeof comm);
	if (!bp_output_path(given, request->pid != 0 ? comm : request->arguments->operands[0], pid,
		    "nettrace", request->path, sizeof request->path, error))
		return -1;
	if (!bp_spares_strangers(request->path, BP_RECORDING_NETTRACE, error) ||
		(bp_option_given(request->arguments, "force") &&
			!bp_set_aside(
				request->path, BP_RECORDING_NETTRACE, &request->earlier, error)))
		return -1;
	const int file =
		open(request->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	request->made = file >= 0;
	if (file >= 0)
		return file;
	if (errno == EEXIST)
		bp_error_set(error, "%s exists: choose another -o, or replace it by --force",
			request->path);
	else
		bp_error_set(error, "%s cannot be created: %s: choose another -o", request->path,
			strerror(errno));
	bp_set_aside_restore(&request->earlier);
	return -1;
}

/* Nothing was recorded: what an earlier recording left is there again. */
static void remove_output(struct request *request)
{
	if (request->made)
		unlink(request->path);
	bp_set_aside_restore(&request->earlier);
}

static uint64_t sum_of_losses(const struct bp_aggregation *aggregation)
{
	uint64_t lost = 0;
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		lost += aggregation->lost[reason];
	return lost;
}

/* By the same road as `bytepoll report`, so that the two never disagree. */
static bool print_headline(const struct request *request, struct bp_error *error)
{
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_PROCESS };
	const struct bp_quantity_style style = bp_quantity_style_of_locale();
	struct bp_input_options input = { .debug_directory = NULL };
	struct bp_symbol_summary symbols;
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	char *files[] = { (char *)request->path, NULL };
	char samples[BP_QUANTITY_BYTES], lost[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES];
	if (!bp_input_read(files, 1, input, &profile, &symbols, error))
		return false;
	if (!bp_aggregate(&profile, &query, &aggregation, error)) {
		bp_profile_finish(&profile);
		return false;
	}
	bp_count_text(aggregation.samples, samples);
	bp_count_text(sum_of_losses(&aggregation), lost);
	bp_say_part(stderr, "bytepoll: %s samples (1 per 100 KiB is assumed), %s lost, in ",
		samples, lost);
	bp_say_path(request->path);
	putc('\n', stderr);
	bp_bytes_figure_text(&aggregation.totals[BP_METRIC_ALLOCATED].bytes, style, text);
	bp_say(stderr, INDENT "allocated %s", text);
	if (aggregation.samples == 0)
		fputs(INDENT
			"no sample: the program allocated little, or its runtime is older than "
			".NET 10, which cannot record them\n",
			stderr);
	fputs(INDENT "next: bytepoll report --by type ", stderr);
	bp_say_path(request->path);
	putc('\n', stderr);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
	return true;
}

/* Says what came of it; false: nothing did. */
static bool print_outcome(struct request *request, const struct bp_dotnet_outcome *outcome)
{
	struct bp_error error = outcome->error;
	if (outcome->error.text[0] != '\0')
		bp_say(stderr, "bytepoll: %s", outcome->error.text);
	if (outcome->guard != 0 && !request->plan.quiet)
		bp_say(stderr,
			"bytepoll: the program left others in the background: process %ld stays "
			"with them, and lets .NET programs that they start begin",
			(long)outcome->guard);
	if (!outcome->recorded) {
		remove_output(request);
		if (outcome->error.text[0] == '\0')
			bp_say(stderr,
				"bytepoll: NOTHING WAS RECORDED: no .NET runtime came forward: is "
				"%s a .NET program, and DOTNET_EnableDiagnostics not 0?",
				request->arguments->operands[0]);
		return false;
	}
	(void)bp_set_aside_remove(&request->earlier, NULL);
	if (outcome->others > 0)
		bp_say(stderr,
			"bytepoll: %u more .NET process%s ran unrecorded: only the first one is",
			outcome->others, outcome->others == 1 ? "" : "es");
	if (!outcome->whole && outcome->error.text[0] == '\0')
		fputs("bytepoll: the trace ends before its end: the program was killed, or broke "
		      "off\n",
			stderr);
	if (!request->plan.quiet && !print_headline(request, &error)) {
		bp_say(stderr, "bytepoll: %s", error.text);
		return false;
	}
	return outcome->error.text[0] == '\0';
}

static int join(struct request *request)
{
	struct bp_dotnet_outcome outcome;
	bp_dotnet_join(request->pid, &request->plan, &outcome);
	return print_outcome(request, &outcome) ? 0 : 1;
}

static int start(struct request *request)
{
	struct bp_dotnet_outcome outcome;
	struct bp_error error = { .text = "" };
	int failure;
	const char *name = request->arguments->operands[0];
	const bool started =
		bp_dotnet_start(request->arguments->operands, &request->plan, &outcome, &failure);
	if (!started) {
		remove_output(request);
		if (failure == 0)
			return bp_command_fail(BP_STATUS_OWN_FAILURE, &outcome.error);
		bp_error_set(&error, "%s cannot be started: %s", name, strerror(failure));
		return bp_command_fail(
			failure == ENOENT ? BP_STATUS_NOT_FOUND : BP_STATUS_NOT_EXECUTABLE, &error);
	}
	signal(SIGPIPE, SIG_IGN); /* what is printed must not change the status */
	(void)print_outcome(request, &outcome);
	return bp_program_end(outcome.wait_status);
}

static int dotnet(const struct bp_arguments *arguments)
{
	struct request request = { .arguments = arguments };
	struct bp_error error = { .text = "" };
	if (arguments->operand_count == 0)
		return bp_command_fail_usage(
			arguments->command, "dotnet needs a process or a program");
	request.pid = pid_of(arguments);
	request.plan.open_file = open_output;
	request.plan.context = &request;
	if (!read_options(&request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	return request.pid != 0 ? join(&request) : start(&request);
}

static const struct bp_option options[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary = "where the trace goes; %p is the pid (default "
			   "bytepoll.PROGRAM.%p.nettrace)" },
	{ .name = "force", .letter = 'f', .summary = "replace an earlier .nettrace file" },
	{ .name = "duration",
		.argument = "TIME",
		.summary =
			"record that long: 30s, 5m (default: until the program ends, or Ctrl-C)" },
	{ .name = "buffer",
		.argument = "MIB",
		.summary = "the runtime's buffer: where it is full events are lost (default 256)" },
	{ .name = "no-rundown",
		.summary = "without the names of methods at the end: a small file" },
	{ .name = "quiet", .letter = 'q', .summary = "print nothing when all is well" },
	{ 0 },
};

const struct bp_command bp_command_dotnet = {
	.name = "dotnet",
	.summary = "record the allocations of a .NET program",
	.usage = "[options] PID | [--] PROGRAM [ARGUMENTS]",
	.details =
		"Records the AllocationSampled events of a .NET 10 program, started for it or\n"
		"running, over the runtime's own diagnostic port: no SDK, no change to the\n"
		"program. With them come the sizes of its heap after each garbage collection. A\n"
		"started program waits until recording is on, so that nothing is missed; its\n"
		"exit status is passed on. INT, TERM and HUP end the recording of a running\n"
		"process, which goes on; a second one does not wait for the names of methods.\n"
		"The file is a plain .nettrace, for this and other tools.\n"
		"\n"
		"Of a started program the first .NET process is recorded, its children run as\n"
		"they are: give the program itself, not `dotnet run`, which is one. All of them\n"
		"must see the same temporary folder, as the same user; for one that does not (a\n"
		"container, a chroot) use PID.\n\n"
		"The runtime samples one byte in 102,400; that cannot be changed. The first\n"
		"session in a process makes the runtime itself allocate some 0.6 MB, under\n"
		"NativeRuntimeEventSource. Threads that run when a session begins are not\n"
		"sampled for the rest of their allocation context, 8 KiB at most.\n",
	.options = options,
	.examples = "bytepoll dotnet -- ./server --port 5000\n"
		    "bytepoll dotnet --duration 30s -o server.nettrace 4711\n",
	.exit_statuses = "the started program's own; with PID 0, or 1 if the recording failed\n"
			 "125  bytepoll could not do its part (usage errors included)\n"
			 "126  PROGRAM was found but cannot be executed\n"
			 "127  PROGRAM was not found\n",
	.usage_status = BP_STATUS_OWN_FAILURE,
	.stops_at_operand = true,
	.run = dotnet,
};
