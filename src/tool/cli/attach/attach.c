/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll attach PID` and `bytepoll detach PID`: the recorder joins a program that runs, and
 * leaves it.
 *
 * Threads of the process call the recorder's entries (entry.h). Settings go by a file of the
 * process's user. Whatever happens to this command meanwhile, the process needs it at no moment.
 *
 * With --duration the command stays, detaches at the end of that time, and prints what `run`
 * prints (recording.h). Should it be killed, the recorder stops sampling by itself: a little later,
 * so that an orderly end is never cut short by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/path.h"
#include "cli/attach/entry.h"
#include "cli/attach/inside.h"
#include "cli/attach/python_seen.h"
#include "cli/attach/recording.h"
#include "cli/attach/refusals.h"
#include "cli/attach/tree_calls.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/options/query_options.h"
#include "cli/process/processes.h"
#include "cli/say.h"
#include "cli/traced/traced.h"
#include "text/quantity.h"
#include "trace/format.h"

#define WAIT_DEFAULT_NS 10000000000u
#define SETTINGS_FOLDER "/tmp"

struct request {
	const struct bp_arguments *arguments;
	pid_t pid;
	uid_t user;
	gid_t group;
	uint64_t wait_ns;
	uint64_t interval; /* bytes; 0: not given */
	uint64_t duration_ns;
	bool automatic, limited;
	char file[PATH_MAX];	 /* of the trace */
	char settings[64];	 /* the path of the file with the settings; "": none was made */
	struct bp_inside inside; /* --copy-recorder; `folder` NULL: not given */
	struct bp_entry entry;
	struct bp_tree_calls tree; /* --tree: of the other processes */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_pid(struct request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	bool given;
	request->wait_ns = WAIT_DEFAULT_NS;
	if (arguments->operand_count != 1)
		return bp_error_set(error, "%s takes one process id", arguments->command->name);
	request->pid = bp_traced_pid(arguments->operands[0]);
	if (request->pid <= 0)
		return bp_error_set(error, "'%s' is no process id", arguments->operands[0]);
	return bp_option_time(arguments, "wait", &given, &request->wait_ns, error);
}

static bool read_sampling(struct request *request, struct bp_error *error)
{
	const char *text = bp_option_value(request->arguments, "interval");
	request->automatic = text != NULL && strcmp(text, "auto") == 0;
	if (!bp_option_time(request->arguments, "duration", &request->limited,
		    &request->duration_ns, error))
		return false;
	request->inside.folder = bp_option_value(request->arguments, "copy-recorder");
	if (request->inside.folder != NULL &&
		(request->limited || bp_option_given(request->arguments, "tree")))
		return bp_error_set(
			error, "--copy-recorder goes with neither --duration nor --tree");
	if (text == NULL || request->automatic)
		return true;
	if (!bp_parse_size(text, &request->interval, error))
		return false;
	return (request->interval >= 1 && request->interval <= BP_INTERVAL_MAX) ||
	       bp_error_set(error, "--interval %s: must be from 1 to 1T, or auto", text);
}

/* ---- before anything is touched ---- */

static bool find_user(struct request *request, struct bp_error *error)
{
	char path[64];
	struct stat status;
	uint64_t ids[4];
	snprintf(path, sizeof path, "/proc/%ld", (long)request->pid);
	if (stat(path, &status) != 0)
		return bp_error_set(error, "there is no process %ld", (long)request->pid);
	/* Effective ids: what the process creates is theirs. */
	if (bp_process_status_of(request->pid, "Uid", ids, BP_COUNT(ids)) == BP_COUNT(ids))
		request->user = (uid_t)ids[1];
	if (bp_process_status_of(request->pid, "Gid", ids, BP_COUNT(ids)) == BP_COUNT(ids))
		request->group = (gid_t)ids[1];
	return true;
}

static bool say_is_there(const struct request *request, struct bp_error *error)
{
	return bp_error_set(
		error, "%s is there already: remove it, or choose another with -o", request->file);
}

/* FILE, or bytepoll.PROGRAM.PID.bpt in the working directory, as an absolute path. */
static bool name_file(struct request *request, struct bp_error *error)
{
	const char *given = bp_option_value(request->arguments, "output");
	char program[32] = "", path[64], folder[PATH_MAX];
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)request->pid);
	FILE *file = fopen(path, "re");
	if (file != NULL) {
		if (fgets(program, sizeof program, file) == NULL)
			program[0] = '\0';
		fclose(file);
	}
	program[strcspn(program, "\n")] = '\0';
	for (char *letter = program; *letter != '\0'; letter++)
		*letter = *letter == '/' ? '_' : *letter;
	if (request->inside.folder != NULL && (given == NULL || given[0] != '/'))
		return bp_error_set(error,
			"--copy-recorder: give -o a whole path, as process %ld has it",
			(long)request->pid);
	if (getcwd(folder, sizeof folder) == NULL)
		return bp_error_set(
			error, "the working directory has no path: give -o a whole one");
	const int length =
		given == NULL
			? snprintf(request->file, sizeof request->file, "%s/bytepoll.%s.%ld.bpt",
				  folder, program, (long)request->pid)
		: given[0] == '/'
			? snprintf(request->file, sizeof request->file, "%s", given)
			: snprintf(request->file, sizeof request->file, "%s/%s", folder, given);
	if (length < 0 || (size_t)length >= sizeof request->file)
		return bp_error_set(error, "the path of FILE is too long");
	if (strpbrk(request->file, "\n%") != NULL)
		return bp_error_set(error, "%s: a name with %% or a line end cannot be used here",
			request->file);
	struct stat status;
	if (request->inside.folder == NULL && lstat(request->file, &status) == 0)
		return say_is_there(request, error);
	return true;
}

/* In a child with the process's ids: can it create FILE? Returns an errno; 0: it can. */
static int try_to_create(const struct request *request)
{
	const bool inside = request->inside.folder != NULL;
	const int root = inside ? bp_inside_root(request->pid) : -1;
	int folder = AT_FDCWD;
	const char *name = inside ? bp_last_part(request->file) : request->file;
	if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(request->group) != 0 ||
				      setuid(request->user) != 0))
		return errno;
	if (inside && (folder = bp_inside_folder_of(root, request->file)) < 0)
		return errno;
	const int descriptor =
		openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (descriptor < 0)
		return errno;
	close(descriptor);
	return unlinkat(folder, name, 0) == 0 ? 0 : errno;
}

static bool can_create(const struct request *request, struct bp_error *error)
{
	int status = 0;
	const pid_t child = fork();
	if (child == 0)
		_exit(try_to_create(request));
	if (child < 0)
		return bp_error_set(error, "no process can be started: %s", strerror(errno));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	const int found = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	if (found == EEXIST)
		return say_is_there(request, error);
	return found == 0 ||
	       bp_error_set(error,
		       "the user of process %ld cannot create %s: %s: choose a place of that "
		       "user's with -o, such as /tmp/%s",
		       (long)request->pid, request->file, strerror(found),
		       bp_last_part(request->file));
}

/* What the recorder shall do, as lines NAME=VALUE. */
static void write_settings(FILE *file, const struct request *request)
{
	fprintf(file, "%s=%s\n", BP_ENV_OUTPUT, request->file);
	if (request->automatic)
		fprintf(file, "%s=auto\n", BP_ENV_INTERVAL);
	else if (request->interval != 0)
		fprintf(file, "%s=%llu\n", BP_ENV_INTERVAL, (unsigned long long)request->interval);
	if (request->limited)
		fprintf(file, "%s=+%llu\n", BP_ENV_STOP_TIME,
			(unsigned long long)(request->duration_ns + request->wait_ns));
}

/* Writes and closes the file, and gives it to the process's user. */
static bool fill_settings(
	struct request *request, int descriptor, const char *path, struct bp_error *error)
{
	FILE *file = fdopen(descriptor, "w");
	bool good = file != NULL || bp_error_set(error, "%s: %s", path, strerror(errno));
	if (good)
		write_settings(file, request);
	if (good && geteuid() == 0 && fchown(descriptor, request->user, request->group) != 0)
		good = bp_error_set(error, "%s: %s", path, strerror(errno));
	if (file != NULL && fclose(file) != 0 && good)
		good = bp_error_set(error, "%s: %s", path, strerror(errno));
	return good;
}

/* A file that the process's user can read, and nobody else. */
static bool make_settings(struct request *request, struct bp_error *error)
{
	char path[64];
	snprintf(path, sizeof path, "%s/bytepoll-attach-%ld-XXXXXX", SETTINGS_FOLDER,
		(long)request->pid);
	const int descriptor = mkostemp(path, O_CLOEXEC);
	if (descriptor < 0)
		return bp_error_set(
			error, "no file can be made in %s: %s", SETTINGS_FOLDER, strerror(errno));
	snprintf(request->settings, sizeof request->settings, "%s", path);
	return fill_settings(request, descriptor, path, error);
}

/* --copy-recorder: the recorder and its settings, where the process has its files. */
static bool put_inside(struct request *request, struct bp_error *error)
{
	struct bp_inside *inside = &request->inside;
	inside->pid = request->pid;
	inside->user = request->user;
	inside->group = request->group;
	if (!bp_inside_copy(inside, error))
		return false;
	const int descriptor = bp_inside_make_settings(inside, error);
	return descriptor >= 0 && fill_settings(request, descriptor, inside->settings, error);
}

/* ---- the commands ---- */

static void say_stops(
	const struct bp_thread_call_result *first, const struct bp_thread_call_result *others)
{
	const uint64_t longest_ns =
		first->longest_ns > others->longest_ns ? first->longest_ns : others->longest_ns;
	bp_say(stderr, "          threads stood still one at a time, for %.2f ms at most%s",
		(double)longest_ns / 1e6,
		first->unsafe + others->unsafe > 0 ? " (some stood in the wrong place)" : "");
}

/* What of the process is seen, by its trace. */
static void say_coverage(const struct request *request)
{
	struct bp_traced traced;
	uint64_t resident_kib = 0;
	char resident[BP_QUANTITY_BYTES];
	struct bp_error error = { 0 };
	if (!bp_traced_open(request->pid, false, &traced, &error))
		return;
	(void)bp_process_status_of(request->pid, "VmRSS", &resident_kib, 1);
	bp_bytes_text(resident_kib << 10, bp_quantity_style_of_locale(), resident);
	bp_say(stderr,
		"          allocations are seen in %llu of %llu loaded files (the program and its "
		"libraries); what it holds from before (of %s resident) is not known",
		(unsigned long long)traced.state->covered_objects,
		(unsigned long long)traced.state->objects, resident);
	bp_traced_close(&traced);
}

/* --copy-recorder: where the trace is read, and what stays behind; and what is seen of Python. */
static void say_inside(const struct request *request)
{
	char path[64];
	struct bp_traced traced;
	if (request->inside.folder == NULL) {
		bp_python_seen_say(request->file);
		return;
	}
	if (bp_traced_open(request->pid, false, &traced, NULL)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", traced.descriptor);
		bp_python_seen_say(path);
		bp_say(stderr, "          while it runs the trace can be read as %s", traced.path);
		bp_traced_close(&traced);
	}
	bp_say(stderr,
		"          its files have the copy %s from now on, which may be removed once the "
		"process has ended",
		request->inside.recorder);
}

static bool attach(struct request *request, struct bp_error *error)
{
	const bool inside = request->inside.folder != NULL;
	if (!bp_may_attach(request->pid, inside, error) || !find_user(request, error) ||
		!name_file(request, error) || !can_create(request, error) ||
		!(inside ? put_inside(request, error) : make_settings(request, error)))
		return false;
	request->entry = (struct bp_entry){ .pid = request->pid,
		.until_ns = now_ns() + request->wait_ns,
		.settings = inside ? request->inside.settings : request->settings,
		.file = request->file,
		.recorder = inside ? request->inside.recorder : NULL };
	if (!bp_entry_attach(&request->entry, error))
		return false;
	request->tree = (struct bp_tree_calls){
		.settings = request->settings, .file = request->file, .wait_ns = request->wait_ns
	};
	if (bp_option_given(request->arguments, "tree"))
		bp_tree_attach(request->pid, &request->tree);
	return true;
}

static void finish(struct request *request)
{
	if (request->settings[0] != '\0')
		unlink(request->settings);
	if (request->inside.folder != NULL)
		bp_inside_finish(&request->inside, request->entry.image.recorder != NULL);
	bp_entry_finish(&request->entry);
}

static void say_attached(const struct request *request)
{
	const long pid = (long)request->pid;
	const char *tree = bp_option_given(request->arguments, "tree") ? " --tree" : "";
	char others[PATH_MAX + 64] = "";
	if (bp_option_given(request->arguments, "quiet"))
		return;
	if (request->tree.done > 0)
		snprintf(others, sizeof others, " and %s.d (%u more process%s)", request->file,
			request->tree.done, request->tree.done == 1 ? "" : "es");
	if (request->limited)
		bp_say(stderr,
			"bytepoll: process %ld is recorded for %s, in %s%s; Ctrl-C ends that early",
			pid, bp_option_value(request->arguments, "duration"), request->file,
			others);
	else
		bp_say(stderr, "bytepoll: process %ld is recorded from now on, in %s%s", pid,
			request->file, others);
	say_coverage(request);
	say_inside(request);
	say_stops(&request->entry.stops, &request->tree.stops);
	if (!request->limited)
		bp_say(stderr, "          next: bytepoll live%s %ld, or bytepoll detach%s %ld",
			tree, pid, tree, pid);
}

static int run_attach(const struct bp_arguments *arguments)
{
	struct request request = { .arguments = arguments, .inside = { .directory = -1 } };
	struct bp_recording recording = { 0 };
	struct bp_error error = { 0 };
	if (!read_pid(&request, &error) || !read_sampling(&request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	bool good = attach(&request, &error);
	if (good && request.limited) {
		recording = (struct bp_recording){ .pid = request.pid,
			.file = request.file,
			.duration_ns = request.duration_ns,
			.wait_ns = request.wait_ns,
			.quiet = bp_option_given(arguments, "quiet") };
		bp_recording_begin(&recording);
	}
	if (good)
		say_attached(&request);
	finish(&request);
	if (good && request.limited)
		good = bp_recording_end(&recording, &error);
	return good ? 0 : bp_command_fail(1, &error);
}

static bool detach_tree(struct request *request, struct bp_error *error)
{
	request->tree = (struct bp_tree_calls){ .wait_ns = request->wait_ns };
	return bp_tree_detach(request->arguments->operands[0], &request->tree, error);
}

static bool detach(struct request *request, struct bp_error *error)
{
	request->entry =
		(struct bp_entry){ .pid = request->pid, .until_ns = now_ns() + request->wait_ns };
	return bp_may_attach(request->pid, true, error) && bp_entry_detach(&request->entry, error);
}

static int run_detach(const struct bp_arguments *arguments)
{
	struct request request = { .arguments = arguments };
	struct bp_error error = { 0 };
	const bool tree = bp_option_given(arguments, "tree");
	if (!read_pid(&request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	const bool good = tree ? detach_tree(&request, &error) : detach(&request, &error);
	if (good && !bp_option_given(arguments, "quiet")) {
		if (tree)
			bp_say(stderr, "bytepoll: %u process%s not recorded any more",
				request.tree.done, request.tree.done == 1 ? " is" : "es are");
		else
			bp_say(stderr, "bytepoll: process %ld is not recorded any more",
				(long)request.pid);
		say_stops(&request.entry.stops, &request.tree.stops);
	}
	finish(&request);
	if (!good)
		return bp_command_fail(1, &error);
	return request.tree.failed == 0 ? 0 : 1;
}

#define OPTION_WAIT                                                                      \
	{                                                                                \
		.name = "wait", .letter = 'w', .argument = "TIME",                       \
		.summary = "how long to look for a thread that stands in a safe place, " \
			   "10s (default)"                                               \
	}
#define OPTION_QUIET                                                                        \
	{                                                                                   \
		.name = "quiet", .letter = 'q', .summary = "print nothing when all is well" \
	}

static const struct bp_option attach_options[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary = "the trace; default: bytepoll.PROGRAM.PID.bpt" },
	{ .name = "interval",
		.letter = 'i',
		.argument = "SIZE",
		.summary = "mean sampling interval T in bytes: 64K, 2M; 1 takes every object; "
			   "auto: chosen by the process itself" },
	{ .name = "duration",
		.argument = "TIME",
		.summary = "record for this long (Ctrl-C: until then), detach, and print what was "
			   "recorded; default: return once it is attached" },
	{ .name = "tree",
		.letter = 't',
		.summary = "its running descendants too, whose traces are in FILE.d" },
	{ .name = "copy-recorder",
		.argument = "DIR",
		.summary = "for a process with file systems of its own: copy the recorder into "
			   "this folder of its, and say what stays there; -o is a path of its" },
	OPTION_WAIT,
	OPTION_QUIET,
	{ 0 },
};

static const struct bp_option detach_options[] = {
	{ .name = "tree", .letter = 't', .summary = "its running descendants too" },
	OPTION_WAIT,
	OPTION_QUIET,
	{ 0 },
};

const struct bp_command bp_command_attach = {
	.name = "attach",
	.summary = "record a process that runs already",
	.usage = "[options] PID",
	.details =
		"The recorder joins a running process, and bytepoll detach makes it leave. Figures\n"
		"are of what was allocated since; objects from before are not known, and freeing\n"
		"them is harmless.\n"
		"\n"
		"One thread after another is stopped for about a millisecond, until one stands where\n"
		"it can load the recorder as a signal handler would: in the program's own code or in\n"
		"a wait, never within malloc, the loader or other parts of the C library. All other\n"
		"threads go on. Whatever happens to this command, the process does not need it.\n"
		"\n"
		"Calls of the program and of all its libraries are seen, but for those that are\n"
		"bound within one file, and those by pointers that the program has saved before.\n"
		"\n"
		"With --duration the command waits, looks at resident memory meanwhile\n"
		"(FILE.resident), detaches, and prints what bytepoll run prints.\n"
		"\n"
		"What the process forks from then on is recorded in FILE.d, and with --tree so are\n"
		"its descendants that run already. An exec leaves the recording.\n",
	.options = attach_options,
	.examples =
		"bytepoll attach 4121\n"
		"bytepoll attach -o now.bpt --interval 64K 4121\n"
		"bytepoll attach --duration 30s 4121\n"
		"bytepoll attach --tree $(head -1 /var/lib/postgresql/15/main/postmaster.pid)\n",
	.exit_statuses = "0  it is recorded, or with --duration was\n"
			 "1  it is not: what is in the way is said, and nothing was changed\n"
			 "2  wrong usage\n",
	.usage_status = 2,
	.run = run_attach,
};

const struct bp_command bp_command_detach = {
	.name = "detach",
	.summary = "leave a process that was attached to",
	.usage = "[options] PID",
	.details =
		"Ends what bytepoll attach began: the trace is closed, and the program's calls reach\n"
		"its allocator again without a detour. The recorder's library stays in the process,\n"
		"and does nothing. The process can be attached to again, with another FILE.\n",
	.options = detach_options,
	.examples = "bytepoll detach 4121\n",
	.exit_statuses =
		"0  it is not recorded any more\n"
		"1  it is not attached, or no thread stood in a safe place (with --tree: of\n"
		"   one of its processes at least)\n"
		"2  wrong usage\n",
	.usage_status = 2,
	.run = run_detach,
};
