/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll control PID|FILE start|stop|interval|snapshot|status`: steers a running process through
 * its own trace, in which it reads what is wanted (docs/trace-format.md 1.8). No signal is sent, no
 * ptrace, no socket; who may write the trace may steer: its owner and root.
 *
 * A change is one word in memory shared with the process. Its threads find it when they next come
 * to the recorder, at most 1 MiB of their own allocation later; so a thread that does not allocate
 * does not follow, and has nothing to follow with. --wait waits for them.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/command.h"
#include "cli/control/control_status.h"
#include "cli/control/schedule.h"
#include "cli/control/snapshot_tree.h"
#include "cli/files/tree.h"
#include "cli/options/options.h"
#include "cli/options/query_options.h"
#include "cli/options/sampling_options.h"
#include "cli/run/jit_maps.h"
#include "cli/say.h"
#include "cli/terminal/terminal.h"
#include "cli/traced/traced.h"
#include "text/escape.h"

#define POLL_NS 2000000
#define NAMED_MAX 8 /* threads named when they do not follow */

enum action { START, STOP, INTERVAL, SNAPSHOT, STATUS, ACTION_COUNT };
static const char *const action_names[ACTION_COUNT] = { "start", "stop", "interval", "snapshot",
	"status" };

struct request {
	const struct bp_arguments *arguments;
	enum action action;
	uint64_t interval; /* 0: automatic */
	uint64_t budget_ppm;
	bool waits;
	uint64_t wait_ns;
	struct bp_traced_list list;
	struct bp_quantity_style style;
};

static bool read_action(struct request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	const char *word = arguments->operand_count > 1 ? arguments->operands[1] : "";
	const char *names[ACTION_COUNT + 1] = { NULL };
	int wanted = 2, action = 0;
	while (action < ACTION_COUNT && strcmp(word, action_names[action]) != 0)
		action++;
	if (action == ACTION_COUNT) {
		memcpy(names, action_names, sizeof action_names);
		const char *near = bp_near_miss(word, names);
		if (*word == '\0')
			return bp_error_set(
				error, "control needs a process and what to do with it");
		return bp_error_set(error, "control cannot '%s'%s%s%s", word,
			near != NULL ? ": did you mean " : "", near != NULL ? near : "",
			near != NULL ? "?" : "");
	}
	request->action = (enum action)action;
	wanted += request->action == INTERVAL;
	if (arguments->operand_count == wanted)
		return true;
	return bp_error_set(error, "%s",
		request->action == INTERVAL ? "interval takes a size, or auto"
					    : "a word too many: one process and one thing to do");
}

static bool read_interval(struct request *request, struct bp_error *error)
{
	const char *text = request->arguments->operands[2];
	if (strcmp(text, "auto") == 0)
		return true;
	if (!bp_parse_size(text, &request->interval, error))
		return false;
	if (request->interval < 1 || request->interval > BP_INTERVAL_MAX)
		return bp_error_set(error, "interval %s: must be from 1 to 1T", text);
	return true;
}

/* An option that another action has. */
static bool refuse_option(
	const struct request *request, const char *name, bool allowed, struct bp_error *error)
{
	if (allowed || !bp_option_given(request->arguments, name))
		return true;
	return bp_error_set(error, "--%s means nothing to %s", name, action_names[request->action]);
}

static bool read_request(struct request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	if (!read_action(request, error) ||
		(request->action == INTERVAL && !read_interval(request, error)))
		return false;
	const bool changes = request->action <= INTERVAL;
	const bool snapshot = request->action == SNAPSHOT;
	const bool automatic = request->action == INTERVAL && request->interval == 0;
	if (!refuse_option(request, "budget", automatic, error) ||
		!refuse_option(request, "wait", changes, error) ||
		!refuse_option(request, "output", snapshot, error) ||
		!refuse_option(request, "force", snapshot, error) ||
		!refuse_option(request, "json", request->action == STATUS, error) ||
		!bp_option_time(arguments, "wait", &request->waits, &request->wait_ns, error))
		return false;
	if (snapshot && !bp_option_given(arguments, "output"))
		return bp_error_set(error, "snapshot needs a name: -o OUT.bpt");
	if (snapshot && strcmp(bp_option_value(arguments, "output"), "-") == 0)
		return bp_error_set(error, "a snapshot is no stream but files: -o OUT.bpt");
	return !bp_option_given(arguments, "budget") ||
	       bp_parse_budget(bp_option_value(arguments, "budget"), &request->budget_ppm, error);
}

/* A stop before the process's own begin, or a start before its own end, holds until that comes. */
static void say_window(const struct request *request, const struct bp_traced *traced)
{
	struct bp_schedule window = bp_schedule_of(traced);
	char text[BP_SCHEDULE_TEXT_BYTES];
	if (request->action == START)
		window.begins_ns = 0;
	bp_schedule_text(&window, text);
	if (request->action == STOP && window.begins_ns != 0)
		printf("its --delay holds all the same: sampling %s; stop it again then\n", text);
	else if (request->action == START && window.ends_ns != 0)
		printf("its --duration holds all the same: sampling %s; start it again then\n",
			text);
}

/* Changes one process; what it says is the state after. */
static void change(const struct request *request, const struct bp_traced *traced)
{
	const struct bp_trace_header *header = &traced->header;
	char text[BP_QUANTITY_BYTES], name[4 * sizeof traced->name];
	bool changed = false;
	if (request->action == START)
		changed = bp_control_start(traced->state, header);
	else if (request->action == STOP)
		changed = bp_control_stop(traced->state);
	else if (request->interval != 0)
		changed = bp_control_set_interval(traced->state, header, request->interval);
	else
		changed = bp_control_set_automatic(traced->state, header, request->budget_ppm);
	if (bp_option_given(request->arguments, "quiet"))
		return;
	const struct bp_control now = bp_control_read(traced->state, header);
	bp_sampling_text(now.interval, now.interval, request->style, text);
	bp_terminal_text(
		traced->name, request->style.utf8, BP_STATUS_NAME_COLUMNS, name, sizeof name);
	printf("%s (pid %ld): sampling %s%s%s%s%s (change %u)\n", name, (long)traced->pid,
		changed ? "" : "was already ", now.on ? "on, " : "off; start takes up ", text,
		now.automatic	 ? ", automatic"
		: now.fine_start ? ", finer at the start"
				 : "",
		changed ? "" : ": nothing to change", now.number);
	say_window(request, traced);
}

static void rest(void)
{
	nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
}

/* Says who does not follow, in one line. */
static int fail_waiting(const struct bp_traced *traced, const struct bp_live_threads *threads)
{
	const struct bp_following following = bp_following_of(traced->state, threads);
	char names[NAMED_MAX * 16 + 8] = "";
	size_t length = 0;
	int named = 0;
	for (uint32_t i = 0; i < threads->count && named <= NAMED_MAX; i++) {
		const struct bp_live_thread *thread = &threads->items[i];
		if (thread->gone || bp_control_is_followed(traced->state, thread->slot.command))
			continue;
		if (++named > NAMED_MAX)
			length += (size_t)snprintf(names + length, sizeof names - length, ", ...");
		else
			length += (size_t)snprintf(names + length, sizeof names - length, "%s%u",
				named > 1 ? ", " : "", thread->slot.tid);
	}
	return bp_command_fail_with(1,
		"%u of %u threads of process %ld do not follow yet (tid %s): they will at most 1 "
		"MiB of their own allocation later",
		following.running - following.following, following.running, (long)traced->pid,
		names);
}

/* Until every thread of the process follows; exit status. */
static int wait_for(const struct bp_traced *traced, uint64_t deadline_ns)
{
	struct bp_live_threads threads = { 0 };
	struct bp_error error = { 0 };
	int status = -1;
	while (status < 0) {
		if (!bp_live_threads_read(traced, false, &threads, &error)) {
			status = bp_command_fail(1, &error);
			break;
		}
		const struct bp_following following = bp_following_of(traced->state, &threads);
		if (following.following == following.running)
			status = 0;
		else if (!bp_traced_runs(traced))
			status = bp_command_fail_with(1,
				"process %ld ended before all its threads followed",
				(long)traced->pid);
		else if (bp_system_time_ns(CLOCK_MONOTONIC) >= deadline_ns)
			status = fail_waiting(traced, &threads);
		else
			rest();
	}
	bp_live_threads_finish(&threads);
	return status;
}

/* A host has no budget to hold. */
static const struct bp_traced *without_budget(const struct request *request)
{
	for (uint32_t i = 0; i < request->list.count; i++)
		if (request->list.items[i].header.recognition == BP_RECOGNITION_HOST)
			return &request->list.items[i];
	return NULL;
}

static int change_all(const struct request *request)
{
	const uint64_t deadline_ns = bp_system_time_ns(CLOCK_MONOTONIC) + request->wait_ns;
	int status = 0;
	if (request->action == INTERVAL && request->interval == 0 &&
		without_budget(request) != NULL)
		return bp_command_fail_with(1,
			"%s is written by the program itself (bytepoll/host.h), which takes a size "
			"and not auto: bytepoll control %s interval 64K",
			without_budget(request)->path, without_budget(request)->path);
	for (uint32_t i = 0; i < request->list.count; i++) {
		change(request, &request->list.items[i]);
		if (bp_traced_is_cut(&request->list.items[i]))
			status = bp_command_fail_with(1,
				"%s was cut off while its process wrote it: nothing reaches it",
				request->list.items[i].path);
	}
	for (uint32_t i = 0; request->waits && i < request->list.count; i++)
		if (wait_for(&request->list.items[i], deadline_ns) != 0)
			status = 1;
	if (request->waits && status == 0 && !bp_option_given(request->arguments, "quiet"))
		puts("every thread follows");
	else if (!request->waits && !bp_option_given(request->arguments, "quiet"))
		puts("a thread follows at its next visit to the recorder, at most 1 MiB of its own "
		     "allocation later; one that does not allocate does not follow");
	return status;
}

static int show_status(const struct request *request)
{
	const uint32_t count = request->list.count;
	struct bp_status *statuses = calloc(count, sizeof *statuses);
	struct bp_error error = { 0 };
	uint32_t known = 0;
	if (statuses == NULL)
		return bp_command_fail_with(1, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		if (bp_status_read(&request->list.items[i], &statuses[known], &error))
			known++;
		else
			bp_command_fail(1, &error);
	}
	if (bp_option_given(request->arguments, "json"))
		bp_status_write_json(statuses, known, stdout);
	else
		for (uint32_t i = 0; i < known; i++)
			bp_status_write_text(&statuses[i], request->style, stdout);
	free(statuses);
	return known == count ? 0 : 1;
}

static void say_snapshot(const struct request *request, const struct bp_snapshot_sums *sums)
{
	char samples[BP_QUANTITY_BYTES], bytes[BP_QUANTITY_BYTES], unknown[BP_QUANTITY_BYTES];
	const struct bp_snapshot *whole = &sums->whole;
	bp_count_text(whole->samples, samples);
	bp_bytes_text(whole->bytes, request->style, bytes);
	bp_bytes_text(whole->unknown, request->style, unknown);
	bp_say_part(stdout, "%s: %s samples (%s)", bp_option_value(request->arguments, "output"),
		samples, bytes);
	if (sums->processes + sums->ended > 1)
		printf(" of %u processes, %u of which have ended", sums->processes + sums->ended,
			sums->ended);
	putchar('\n');
	if (sums->removed > 0)
		printf("%u more ended without samples, and their files were removed meanwhile: "
		       "their totals are not in it\n",
			sums->removed);
	if (whole->refused != 0)
		printf("totals are intervals %s wide: the counters of the process cannot be read "
		       "(%s)\n",
			unknown, strerror(whole->refused));
	else if (whole->unknown >= BP_ARMED_WITHOUT_LIMIT)
		puts("totals are lower limits: what its threads counted last");
	else if (whole->unread > 0)
		printf("totals are intervals %s wide: %u of %u threads could not be read\n",
			unknown, whole->unread, whole->threads);
	else if (whole->unknown == 0)
		printf("totals are known to the object that each of %u threads was in the middle "
		       "of\n",
			whole->threads);
	else
		printf("totals are known to %s, what its %u threads allocated meanwhile, and to "
		       "the object that each was in the middle of\n",
			unknown, whole->threads);
	if (whole->torn)
		puts("records were written faster than a moment without one was found: a free "
		     "may be there without its sample");
}

/* Of code that the processes made: their files go on changing, and the copy does not. */
static bool keep_names(const char *copy, struct bp_error *error)
{
	struct bp_tree tree;
	if (!bp_tree_read(copy, &tree, error))
		return false;
	const bool good = bp_jit_maps_keep(&tree, error);
	bp_tree_finish(&tree);
	return good;
}

static int take_snapshot(const struct request *request)
{
	const struct bp_arguments *arguments = request->arguments;
	const bool tree = bp_option_given(arguments, "tree");
	const char *operand = arguments->operands[0];
	struct bp_snapshot_sums sums = { 0 };
	struct bp_error error = { 0 };
	const char *root = NULL;
	/* The whole tree, ended processes too, where its first file is known. */
	if (tree)
		root = bp_traced_pid(operand) == 0 ? operand : request->list.items[0].path;
	if (!bp_snapshot_tree_write(&request->list, root, bp_option_value(arguments, "output"),
		    bp_option_given(arguments, "force"), &sums, &error))
		return bp_command_fail(1, &error);
	if (!bp_option_given(arguments, "quiet"))
		say_snapshot(request, &sums);
	if (!keep_names(bp_option_value(arguments, "output"), &error))
		bp_say(stderr, "bytepoll: %s", error.text);
	return 0;
}

static int run(const struct bp_arguments *arguments)
{
	struct request request = { .arguments = arguments };
	struct bp_report_options look = { 0 };
	struct bp_error error = { 0 };
	int status;
	if (!read_request(&request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	bp_terminal_look(&look);
	request.style.utf8 = look.utf8;
	if (!bp_traced_list_open(arguments->operands[0], bp_option_given(arguments, "tree"),
		    request.action <= INTERVAL, &request.list, &error))
		return bp_command_fail(1, &error);
	if (request.action == STATUS)
		status = show_status(&request);
	else if (request.action == SNAPSHOT)
		status = take_snapshot(&request);
	else
		status = change_all(&request);
	bp_traced_list_close(&request.list);
	return status;
}

static const struct bp_option options[] = {
	{ .name = "tree",
		.letter = 't',
		.summary = "its running descendants too, or all running processes of FILE.d" },
	{ .name = "wait",
		.letter = 'w',
		.argument = "TIME",
		.summary = "return when every thread follows; exit status 1 if one does not within "
			   "TIME" },
	{ .name = "budget",
		.argument = "PERCENT",
		.summary = "interval auto: CPU time that sampling may take, 0.5% (default)" },
	{ .name = "output",
		.letter = 'o',
		.argument = "OUT",
		.file = true,
		.summary = "snapshot: where the copy goes; with --tree also OUT.d" },
	{ .name = "force", .letter = 'f', .summary = "snapshot: replace an earlier trace" },
	{ .name = "json", .summary = "status as JSON" },
	{ .name = "quiet", .letter = 'q', .summary = "print nothing when all is well" },
	{ 0 },
};

const struct bp_command bp_command_control = {
	.name = "control",
	.summary = "steer the profiling of a running process",
	.usage = "[options] PID|FILE start|stop|interval SIZE|interval auto|snapshot|status",
	.details =
		"Changes or shows how a process that runs under bytepoll is profiled, without\n"
		"stopping it. PID is the process, FILE the trace that it writes. Only its owner and\n"
		"root may do so.\n"
		"\n"
		"  start          samples from now on, at the interval it sampled at last\n"
		"  stop           samples no more; its allocations are still counted, so that\n"
		"                 totals stay exact, and frees of what was sampled recorded\n"
		"  interval SIZE  the mean sampling interval from now on, or while sampling is\n"
		"                 off from the next start on; 1 takes every object\n"
		"  interval auto  the process itself makes it coarser or finer to hold a budget;\n"
		"                 it begins at the interval it has, at 16 KiB at the least\n"
		"  snapshot       a copy of its trace as it is now, for bytepoll report\n"
		"  status         what it was told, who follows, and how far it has come\n"
		"\n"
		"A thread follows a change at its next visit to the recorder, at most 1 MiB of its\n"
		"own allocation later. One that does not allocate does not follow, and --wait then\n"
		"ends with exit status 1: so it does for a main thread that only waits for others\n"
		"to end. The change holds none the less, for every thread that allocates.\n"
		"The times of run --delay and --duration hold whatever is said before they come.\n"
		"Reports take every change into account: estimates stay unbiased, and what was\n"
		"allocated while sampling was off is known in bytes and objects, as a whole.\n"
		"\n"
		"A snapshot does not stop the process: its threads are read one after another while\n"
		"they run. Its totals say what is known of one moment, usually to a few objects a\n"
		"thread; where the system forbids to read the process's memory, to the 1 MiB a\n"
		"thread that it publishes by itself.\n",
	.options = options,
	.examples = "bytepoll run --start-dormant -o server.bpt -- ./server &\n"
		    "bytepoll control server.bpt start\n"
		    "bytepoll control 4121 interval 64K --wait 10s\n"
		    "bytepoll control 4121 snapshot -o now.bpt && bytepoll report now.bpt\n"
		    "bytepoll control 4121 stop\n",
	.exit_statuses = "0  done, or there was nothing to change\n"
			 "1  there is no such process or trace, it may not be steered, or with\n"
			 "   --wait a thread does not follow\n"
			 "2  wrong usage\n",
	.usage_status = 2,
	.run = run,
};
