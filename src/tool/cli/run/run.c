/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll run`: starts a program with the recorder preloaded and stays as its parent.
 *
 * The parent must not be noticed. It ignores INT and QUIT, which the terminal sends to the program
 * as well; it forwards TERM and HUP, which a supervisor sends to the parent alone; the program gets
 * every signal as bytepoll found it. Signals are blocked over the fork so that none is lost between
 * the two worlds. It is no subreaper: orphans go where they would have gone.
 *
 * Parent and child talk over one socket, closed by the exec: the parent says go (after it has
 * looked at the output file, whose default name holds the child's pid), the child answers with the
 * errno of a failed exec or, by silence, that the program runs.
 *
 * While it waits it looks ten times a second at what the kernel says of the first process's
 * resident memory (resident.h), for the reports to set beside the estimate.
 *
 * The exit status is the program's; death by a signal is repeated. 127 and 126 are a shell's: not
 * found, not executable. 125 is our own failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "cli/command.h"
#include "cli/files/output_file.h"
#include "cli/options/options.h"
#include "cli/options/sampling_options.h"
#include "cli/process/recorder_file.h"
#include "cli/run/folding.h"
#include "cli/run/open_files.h"
#include "cli/run/output_claim.h"
#include "cli/run/preload.h"
#include "cli/run/program.h"
#include "cli/run/program_end.h"
#include "cli/run/recorded.h"
#include "cli/say.h"
#include "cli/verify/verify_tree.h"
#include "cli/run/resident_watch.h"
#include "resident/resident_file.h"
#include "trace/format.h"

struct run {
	const struct bp_arguments *arguments;
	struct bp_program program;
	char recorder[PATH_MAX];
	struct bp_sampling_options sampling;
	struct bp_open_files open_files;
	char output[PATH_MAX];
	int channel;	     /* to the other process */
	uint64_t most_bytes; /* --max-size; 0: any */
	struct bp_resident_watch watch;
	uint64_t resident_most; /* ru_maxrss, bytes */
	pid_t pid;
	uint64_t ended_ns;	     /* the machine's clock */
	struct bp_set_aside earlier; /* what --force is to replace */
};

/* How long the program is given to begin its recording before `run` goes on: steps of
 * milliseconds. */
#define BEGIN_STEPS 100
#define BEGIN_STEP_NS 2000000

static const int watched_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD };
#define WATCHED_COUNT ((int)(sizeof watched_signals / sizeof watched_signals[0]))
static struct sigaction found_actions[sizeof watched_signals / sizeof watched_signals[0]];
static sigset_t found_mask;

static volatile pid_t forward_to; /* 0: nobody */

static void forward(int signal_number)
{
	int saved = errno;
	if (forward_to > 0)
		kill(forward_to, signal_number);
	errno = saved;
}

static void block_signals(void)
{
	sigset_t watched;
	sigemptyset(&watched);
	for (int i = 0; i < WATCHED_COUNT; i++)
		if (watched_signals[i] != SIGCHLD)
			sigaddset(&watched, watched_signals[i]);
	sigprocmask(SIG_BLOCK, &watched, NULL);
}

/* Before the fork: signals wait, and a child's end can be waited for even if SIGCHLD was ignored.
 */
static void hold_signals(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigprocmask(SIG_BLOCK, NULL, &found_mask);
	block_signals();
	for (int i = 0; i < WATCHED_COUNT; i++)
		sigaction(watched_signals[i], NULL, &found_actions[i]);
	sigaction(SIGCHLD, &plain, NULL);
}

/* As bytepoll was started: for the child before its exec, and for us when the program has ended. */
static void restore_signals(void)
{
	for (int i = 0; i < WATCHED_COUNT; i++)
		sigaction(watched_signals[i], &found_actions[i], NULL);
	sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

/* The parent's own, while the program runs. What was ignored stays ignored (nohup). */
static void watch_signals(pid_t child)
{
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	struct sigaction forwarded = { .sa_handler = forward, .sa_flags = SA_RESTART };
	forward_to = child;
	for (int i = 0; i < WATCHED_COUNT; i++) {
		int number = watched_signals[i];
		if (number == SIGINT || number == SIGQUIT)
			sigaction(number, &ignored, NULL);
		else if (number != SIGCHLD && found_actions[i].sa_handler != SIG_IGN)
			sigaction(number, &forwarded, NULL);
	}
	sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

/* Our recorder first, then what was preloaded already. */
static bool set_preload(const char *recorder)
{
	char *value = bp_preload_with(recorder, getenv("LD_PRELOAD"));
	const bool good = value != NULL && setenv("LD_PRELOAD", value, 1) == 0;
	free(value);
	return good;
}

/* A program below this one may be built with AddressSanitizer, which as a library ends the program
 * where anything is preloaded, unless verify_asan_link_order is 0. The recorder leaves it alone. */
static bool set_sanitizer(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *value;
	if (before == NULL || *before == '\0')
		return setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1) == 0;
	if (strstr(before, "verify_asan_link_order") != NULL)
		return true;
	if (asprintf(&value, "%s:verify_asan_link_order=0", before) < 0)
		return false;
	const int result = setenv("ASAN_OPTIONS", value, 1);
	free(value);
	return result == 0;
}

static bool set_output(const char *path)
{
	char *variable = bp_output_variable(path);
	return variable != NULL && putenv(variable) == 0; /* which keeps it */
}

static bool set_environment(const struct run *run)
{
	char pid[32];
	bool good = set_preload(run->recorder) && set_sanitizer() && set_output(run->output) &&
		    bp_sampling_options_set_environment(&run->sampling);
	if (!bp_option_given(run->arguments, "no-follow-fork"))
		return good && unsetenv(BP_ENV_FOLLOW_PID) == 0;
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	return good && setenv(BP_ENV_FOLLOW_PID, pid, 1) == 0;
}

static bool name_output(struct run *run, pid_t pid, struct bp_error *error)
{
	return bp_output_path(bp_option_value(run->arguments, "output"),
		run->arguments->operands[0], pid, "bpt", run->output, sizeof run->output, error);
}

/* The child, up to the program. Never returns. */
static void become_program(struct run *run)
{
	int failure;
	char go;
	if (recv(run->channel, &go, 1, 0) != 1)
		_exit(BP_STATUS_OWN_FAILURE); /* the parent says why */
	if (!bp_obstacle_refuses_preload(run->program.obstacle) &&
		(!name_output(run, getpid(), NULL) || !set_environment(run))) {
		failure = ENOMEM;
	} else {
		restore_signals();
		bp_open_files_restore(&run->open_files);
		/* With a slash in the path nothing is searched; a file that is no program at all
		 * goes to the shell, as it would from one. */
		execvp(run->program.path, run->arguments->operands);
		failure = errno;
	}
	send(run->channel, &failure, sizeof failure, MSG_NOSIGNAL);
	_exit(BP_STATUS_OWN_FAILURE);
}

/* Says why an exec failed, as a shell would by its status. */
static bool not_started(const struct run *run, int failure, int *ret_status, struct bp_error *error)
{
	if (failure == ENOENT) {
		*ret_status = BP_STATUS_NOT_FOUND;
		return bp_error_set(error, "%s cannot be started: its interpreter %s is missing",
			run->program.path,
			run->program.loader[0] != '\0' ? run->program.loader : run->program.image);
	}
	*ret_status = BP_STATUS_NOT_EXECUTABLE;
	return bp_error_set(
		error, "%s cannot be started: %s", run->program.path, strerror(failure));
}

/* Lets the child go on; `*ret_status` is set when there will be no program. */
static bool let_go(struct run *run, int *ret_status, struct bp_error *error)
{
	int failure = 0;
	ssize_t got;
	*ret_status = BP_STATUS_OWN_FAILURE;
	if (send(run->channel, "", 1, MSG_NOSIGNAL) != 1)
		return bp_error_set(error, "the program could not be started: %s", strerror(errno));
	do
		got = recv(run->channel, &failure, sizeof failure, 0);
	while (got < 0 && errno == EINTR);
	return got <= 0 || not_started(run, failure, ret_status, error);
}

static bool has_recording(const struct run *run)
{
	struct stat status;
	char folder[PATH_MAX + 2];
	snprintf(folder, sizeof folder, "%s.d", run->output);
	return lstat(run->output, &status) == 0 || lstat(folder, &status) == 0;
}

/* An earlier recording is removed when there is another one, not before: a program that cannot be
 * started or profiled, or that ends before it is one, costs nobody a recording. `ended`: there will
 * be none any more. */
static void settle_earlier(struct run *run, bool ended)
{
	struct bp_error reason = { 0 };
	if (run->earlier.path[0] == '\0')
		return;
	for (int step = 0; step < BEGIN_STEPS && !ended && !has_recording(run); step++)
		nanosleep(&(struct timespec){ 0, BEGIN_STEP_NS }, NULL);
	if (has_recording(run)) {
		if (!bp_set_aside_remove(&run->earlier, &reason))
			bp_say(stderr, "bytepoll: warning: %s", reason.text);
	} else if (ended) {
		const bool was = run->earlier.moved != 0;
		bp_set_aside_restore(&run->earlier);
		if (was)
			bp_say(stderr,
				"bytepoll: nothing was recorded, so %s is still the earlier recording",
				run->output);
	}
}

/* Makes room for the trace, and starts the program. */
static bool start(struct run *run, pid_t child, int *ret_status, struct bp_error *error)
{
	const bool force = bp_option_given(run->arguments, "force");
	/* A default name has the program's own pid in it, so that no other run can have chosen
	 * it. */
	const bool named = bp_option_given(run->arguments, "output");
	int lock = -1;
	*ret_status = BP_STATUS_OWN_FAILURE;
	if (!name_output(run, child, error) ||
		(named && !bp_output_claim(run->output, &lock, error)))
		return false;
	const bool started = bp_output_prepare(run->output, force, &run->earlier, error) &&
			     let_go(run, ret_status, error);
	if (started)
		settle_earlier(run, false);
	else
		bp_set_aside_restore(&run->earlier);
	bp_output_release(lock);
	return started;
}

/* Waits for the end without reaping, so that no signal is forwarded to a reused pid. */
static int wait_for(struct run *run, pid_t child)
{
	const int pidfd = run->watch.on ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
	struct rusage usage = { 0 };
	siginfo_t info;
	int status = 0;
	bp_resident_watch_wait(&run->watch, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
		;
	block_signals();
	forward_to = 0;
	while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
		;
	restore_signals();
	run->resident_most = (uint64_t)usage.ru_maxrss * 1024;
	run->pid = child;
	run->ended_ns = bp_clock_machine_ns();
	return status;
}

/* Only then is there anything to be packed. With --verify each trace is read on its own. */
static bool follows_forks(const struct run *run)
{
	return !bp_option_given(run->arguments, "no-follow-fork") &&
	       !bp_option_given(run->arguments, "verify");
}

/* Forks, starts, waits. On success `*ret_wait_status` is the program's. */
static bool run_program(
	struct run *run, int *ret_wait_status, int *ret_status, struct bp_error *error)
{
	int channels[2];
	pid_t child, folder = 0;
	bool started;
	*ret_status = BP_STATUS_OWN_FAILURE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels) != 0)
		return bp_error_set(error, "no socket: %s", strerror(errno));
	fflush(NULL);
	hold_signals();
	child = fork();
	if (child == 0) {
		close(channels[0]);
		run->channel = channels[1];
		become_program(run);
	}
	close(channels[1]);
	run->channel = channels[0];
	if (child < 0) {
		restore_signals();
		close(channels[0]);
		return bp_error_set(error, "no process could be made: %s", strerror(errno));
	}
	watch_signals(child);
	started = start(run, child, ret_status, error);
	close(channels[0]); /* a child that still waits for its go ends now */
	if (started && !bp_option_given(run->arguments, "no-resident"))
		bp_resident_watch_begin(&run->watch, child, run->output);
	if (started && (run->most_bytes > 0 || follows_forks(run)))
		folder = bp_folding_start(run->output, run->most_bytes, child);
	*ret_wait_status = wait_for(run, child);
	settle_earlier(run, true);
	bp_folding_end(folder, run->output, run->most_bytes, child);
	return started;
}

static void warn_of_obstacle(const struct run *run)
{
	const char *text = bp_obstacle_text(run->program.obstacle);
	if (*text != '\0')
		bp_say(stderr, "bytepoll: warning: %s %s; %s unprofiled",
			bp_obstacle_subject(&run->program), text,
			run->program.obstacle == BP_OBSTACLE_VALGRIND ? "what it runs stays"
								      : "it runs");
}

/* With too few descriptors for us the program becomes what we are. Returns only if it cannot be
 * started. */
static int run_unprofiled(const struct run *run)
{
	struct bp_error error = { 0 };
	int status;
	bp_say(stderr,
		"bytepoll: warning: the limit on open files (ulimit -n) leaves fewer than the "
		"three that are needed to record %s; it runs unprofiled",
		run->program.path);
	fflush(NULL);
	bp_open_files_restore(&run->open_files);
	execvp(run->program.path, run->arguments->operands);
	not_started(run, errno, &status, &error);
	return bp_command_fail(status, &error);
}

/* What is printed from now on must not change the exit status: not a reader of stderr that is gone,
 * nor a limit on the size of files. */
static void survive_own_output(void)
{
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	sigaction(SIGPIPE, &ignored, NULL);
	sigaction(SIGXFSZ, &ignored, NULL);
}

static bool read_max_size(struct run *run, struct bp_error *error)
{
	const char *given = bp_option_value(run->arguments, "max-size");
	if (given == NULL)
		return true;
	return bp_parse_size(given, &run->most_bytes, error) &&
	       (run->most_bytes >= BP_FOLDING_LEAST_BYTES ||
		       bp_error_set(error, "--max-size %s: must be 1M at least", given));
}

static int run_command(const struct bp_arguments *arguments)
{
	struct run run = { .arguments = arguments };
	struct bp_error error = { 0 };
	int status = BP_STATUS_OWN_FAILURE, wait_status = 0;
	bool verify;
	if (arguments->operand_count == 0)
		return bp_command_fail_usage(arguments->command, "run needs a program");
	if (!bp_sampling_options_read(arguments, &run.sampling, &error) ||
		!bp_sampling_options_check_environment(&run.sampling, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	if (!bp_output_may_be_named(bp_option_value_or(arguments, "output", ""), &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	if (!read_max_size(&run, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	if (!bp_program_find(arguments->operands[0], &run.program, &status, &error))
		return bp_command_fail(status, &error);
	verify = bp_option_given(arguments, "verify");
	if (!bp_recorder_file_find(verify ? BP_RECORDER_VERIFY_FILE : BP_RECORDER_FILE,
		    run.recorder, sizeof run.recorder, &error))
		return bp_command_fail(BP_STATUS_OWN_FAILURE, &error);
	bp_program_examine(&run.program);
	if (!bp_open_files_make_room(&run.open_files))
		return run_unprofiled(&run);
	warn_of_obstacle(&run);
	if (!run_program(&run, &wait_status, &status, &error))
		return bp_command_fail(status, &error);
	survive_own_output();
	bp_resident_watch_end(&run.watch, run.resident_most);
	const struct bp_recorded recorded = { .file = run.output,
		.program = &run.program,
		.recorder = run.recorder,
		.pid = run.pid,
		.ended_ns = run.ended_ns,
		.end_signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0,
		.alone = bp_option_given(arguments, "no-follow-fork"),
		.quiet = bp_option_given(arguments, "quiet") };
	bp_recorded_print(&recorded);
	if (verify)
		bp_verify_tree_print(run.output, bp_option_given(arguments, "quiet"));
	return bp_program_end(wait_status);
}

static const struct bp_option options[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.file = true,
		.summary =
			"where the trace goes; %p is the pid (default bytepoll.PROGRAM.%p.bpt)" },
	{ .name = "force", .letter = 'f', .summary = "replace the trace of an earlier run" },
	{ .name = "interval",
		.letter = 'i',
		.argument = "SIZE",
		.summary =
			"mean sampling interval T in bytes: 64K, 2M; 1 takes every object; auto: "
			"by what samples cost (default: 64K, growing to 512K as the program "
			"allocates)" },
	{ .name = "budget",
		.argument = "PERCENT",
		.summary = "with auto: CPU time that sampling may take (0.5%)" },
	{ .name = "delay", .argument = "TIME", .summary = "begin to sample that much later" },
	{ .name = "duration",
		.argument = "TIME",
		.summary = "end sampling after that time, counted from its begin" },
	{ .name = "start-dormant", .summary = "only count, until bytepoll control PID start" },
	{ .name = "seed", .argument = "N", .summary = "repeatable sampling" },
	{ .name = "law",
		.argument = "LAW",
		.choices = "exact|bernoulli",
		.summary = "exact: objects from T bytes on are all taken (default)" },
	{ .name = "python",
		.argument = "WHAT",
		.choices = "all|frames|off",
		.summary = "of CPython: its functions in stacks and its small objects (all, the "
			   "default); only the functions; nothing" },
	{ .name = "mapped",
		.summary = "record each call by which the program maps memory itself, too (report "
			   "--metric mapped)" },
	{ .name = "free-stacks",
		.summary = "record the stack and the processor of each free of a sampled "
			   "object, too" },
	{ .name = "in-place",
		.summary = "sampled objects stay in the program's own heap, so that their pages "
			   "can be looked at (report --resident)" },
	{ .name = "verify",
		.summary = "count every object too, and check the intervals against it (slow)" },
	{ .name = "max-size",
		.argument = "SIZE",
		.summary = "fold older records, and pack what ended processes recorded, so that "
			   "all files take about so much disk" },
	{ .name = "no-follow-fork", .summary = "profile the first process alone" },
	{ .name = "no-resident", .summary = "keep no resident memory beside FILE (FILE.resident)" },
	{ .name = "quiet", .letter = 'q', .summary = "print nothing when all is well" },
	{ 0 },
};

const struct bp_command bp_command_run = {
	.name = "run",
	.summary = "profile a program",
	.usage = "[options] [--] PROGRAM [ARGUMENTS]",
	.details =
		"Runs PROGRAM, unmodified, with the recorder preloaded, and writes what was sampled\n"
		"to FILE; what PROGRAM starts in its turn goes to FILE.d, and PROGRAM's resident\n"
		"memory, ten times a second, to FILE.resident. Returns when PROGRAM\n"
		"ends, and then prints what was recorded to standard error. INT and QUIT are left\n"
		"to PROGRAM, TERM and HUP are passed on to it.\n"
		"\n"
		"--force replaces the recording of an earlier run, when PROGRAM has started, and no\n"
		"other file: what is not empty and no recording of bytepoll stays, and so does a\n"
		"FILE that a process of another run still writes to.\n"
		"\n"
		"The same options travel as environment variables, for programs that are started\n"
		"by others: LD_PRELOAD=.../" BP_RECORDER_FILE " with " BP_ENV_OUTPUT
		",\n" BP_ENV_INTERVAL ", " BP_ENV_SEED ", " BP_ENV_LAW ", " BP_ENV_BUDGET
		", " BP_ENV_PYTHON ",\n" BP_ENV_MAPPED ", " BP_ENV_FREE_STACKS ", " BP_ENV_IN_PLACE
		",\n" BP_ENV_START "=dormant, " BP_ENV_START_TIME " and " BP_ENV_STOP_TIME
		" (+NANOSECONDS from\nthe start of the process).\n",
	.options = options,
	.examples = "bytepoll run -- sqlite3 :memory: < queries.sql\n"
		    "bytepoll run --interval 64K -o server.bpt -- ./server --port 7777\n",
	.exit_statuses = "the program's own; death by a signal is repeated\n"
			 "125  bytepoll could not do its part (usage errors included)\n"
			 "126  PROGRAM was found but cannot be executed\n"
			 "127  PROGRAM was not found\n",
	.usage_status = BP_STATUS_OWN_FAILURE,
	.stops_at_operand = true,
	.run = run_command,
};
