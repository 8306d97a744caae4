/* SPDX-License-Identifier: MIT */
/*
 * The folding process looks at the disk that each file takes, sleeps, and folds what is too large.
 * It is a process of its own so that `run` can wait for the program and for nothing else; it runs
 * at low priority, and may be killed at any moment.
 *
 * How long it sleeps follows from how fast the files grow: until the fastest could have filled half
 * of what is left to its bound, and from 20 ms to 2 s. A page of the file is written by a store, so
 * there is no event to wait for.
 *
 * A file is folded to half of the bound, the newest eighth left as it is, so that each folding
 * frees room for many chunks. A file that cannot be folded (a full disk, a file system without
 * holes) is said once, and tried again after 2 s, after 4 s and so on, and when the program has
 * ended: disks are made room on. Who reads a file then is waited for, but not for ever: `run` has
 * to end.
 */
#include "cli/run/folding.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/place.h"
#include "base/system_call.h"
#include "cli/terminal/say.h"
#include "fold/fold.h"

#define SLEEP_LEAST_NS 20000000u
#define SLEEP_MOST_NS 2000000000u
/* Less than the program, but on a busy machine enough to keep up with it. */
#define NICENESS 5

#define WAIT_MOST_NS 5000000000u /* for a reader, when the program has ended */
#define WAIT_STEP_NS 50000000u
#define REST_LEAST_NS 2000000000u /* after a failure */
#define REST_MOST_NS 300000000000u
#define MESSAGES 8
#define TELL_NS 2000000000u /* a shorter wait for the end says nothing */

/* What was said already: shared by the folding process and the one that ends it. */
struct said {
	uint32_t count;
	struct bp_error messages[MESSAGES];
	/* What the folding at the end came to. */
	bool done, failed, busy;
	uint64_t largest_bytes;
};

struct watch {
	const char *output;
	uint64_t most_bytes;
	uint64_t largest_bytes, largest_before; /* disk of the largest file */
	uint64_t rest_until_ns, rest_ns;	/* after a failure */
	uint64_t wait_until_ns;			/* for a reader */
	bool failed, busy;			/* some file, when last looked at */
	struct said *said;			/* NULL: no memory, nothing is said */
};

static struct said *said_so_far;

static void sleep_for(uint64_t duration_ns)
{
	const struct timespec pause = { (time_t)(duration_ns / 1000000000u),
		(long)(duration_ns % 1000000000u) };
	nanosleep(&pause, NULL);
}

static void say_once(struct said *said, const struct bp_error *error)
{
	if (said == NULL || said->count >= MESSAGES)
		return;
	for (uint32_t i = 0; i < said->count; i++)
		if (strcmp(said->messages[i].text, error->text) == 0)
			return;
	said->messages[said->count] = *error;
	said->count++;
	bp_say(stderr, "bytepoll: --max-size: %s", error->text);
}

/* Is there enough in FILE itself that folding is worth writing FILE.fold again? That may be large,
 * for objects that are all different cannot be folded to any size. */
static bool is_worth_it(const struct watch *watch, const char *path, uint64_t bytes)
{
	struct stat status;
	if (bytes < watch->most_bytes || stat(path, &status) != 0)
		return false;
	const uint64_t own = (uint64_t)status.st_blocks * 512;
	const uint64_t folded = bytes > own ? bytes - own : 0;
	return own >= watch->most_bytes / 4 && own >= folded / 2;
}

/* Folds one file of an open folder; whoever reads it is waited for until wait_until_ns. */
static void fold(struct watch *watch, int folder, const char *path)
{
	const struct bp_fold_options options = { .keep_bytes = watch->most_bytes / 8,
		.at_least = watch->most_bytes,
		.folded_bytes = watch->most_bytes / 2 };
	struct bp_fold_result result = { 0 };
	struct bp_error error = { 0 };
	for (;;) {
		if (!bp_fold_in(folder, path, &options, false, &result, &error)) {
			watch->failed = true;
			say_once(watch->said, &error);
			return;
		}
		if (!result.busy || bp_system_time_ns(CLOCK_MONOTONIC) >= watch->wait_until_ns)
			break;
		sleep_for(WAIT_STEP_NS);
	}
	if (!result.busy || watch->wait_until_ns == 0)
		return;
	watch->busy = true;
	bp_error_set(&error,
		"%s is being read by another program and was not folded at the end: `bytepoll "
		"fold %s` does it",
		path, path);
	say_once(watch->said, &error);
}

/* Folds one file if it is too large. */
static void look_at(struct watch *watch, int folder, const char *path)
{
	uint64_t bytes = bp_fold_disk_bytes(path);
	if (bp_system_time_ns(CLOCK_MONOTONIC) >= watch->rest_until_ns &&
		is_worth_it(watch, path, bytes)) {
		fold(watch, folder, path);
		bytes = bp_fold_disk_bytes(path);
	}
	if (bytes > watch->largest_bytes)
		watch->largest_bytes = bytes;
}

/* The files of FILE.d, which is a folder of ours, or is left alone. */
static void look_into_tree(struct watch *watch)
{
	char path[PATH_MAX];
	struct dirent *entry;
	snprintf(path, sizeof path, "%s.d", watch->output);
	const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = folder >= 0 && bp_place_is_own_folder(folder) ? fdopendir(folder) : NULL;
	if (stream == NULL) {
		if (folder >= 0)
			close(folder);
		return;
	}
	while ((entry = readdir(stream)) != NULL) {
		const size_t length = strlen(entry->d_name);
		if (length <= 4 || strcmp(entry->d_name + length - 4, ".bpt") != 0)
			continue;
		const int written =
			snprintf(path, sizeof path, "%s.d/%s", watch->output, entry->d_name);
		if (written > 0 && (size_t)written < sizeof path)
			look_at(watch, folder, path);
	}
	closedir(stream);
}

static void look_around(struct watch *watch)
{
	const int folder = bp_place_open_folder(watch->output);
	watch->largest_before = watch->largest_bytes;
	watch->largest_bytes = 0;
	watch->failed = false;
	if (folder >= 0) {
		look_at(watch, folder, watch->output);
		close(folder);
	}
	look_into_tree(watch);
}

/* The longer a failure lasts, the less often it is met: each costs reading the whole file. */
static void rest_after_failure(struct watch *watch)
{
	if (bp_system_time_ns(CLOCK_MONOTONIC) < watch->rest_until_ns)
		return;
	if (!watch->failed) {
		watch->rest_ns = REST_LEAST_NS;
		return;
	}
	watch->rest_until_ns = bp_system_time_ns(CLOCK_MONOTONIC) + watch->rest_ns;
	if (watch->rest_ns < REST_MOST_NS)
		watch->rest_ns *= 2;
}

/* Until the largest file could have come half the way to the bound. */
static uint64_t next_sleep(const struct watch *watch, uint64_t slept_ns)
{
	const uint64_t left = watch->largest_bytes < watch->most_bytes
				      ? watch->most_bytes - watch->largest_bytes
				      : 0;
	const uint64_t grown = watch->largest_bytes > watch->largest_before
				       ? watch->largest_bytes - watch->largest_before
				       : 0;
	double sleep_ns = SLEEP_MOST_NS;
	if (grown > 0)
		sleep_ns = (double)slept_ns * (double)left / (2 * (double)grown);
	/* A program may begin to allocate any time: the longer nothing happened, the longer. */
	if (sleep_ns > 2 * (double)slept_ns)
		sleep_ns = 2 * (double)slept_ns;
	if (sleep_ns > SLEEP_MOST_NS)
		sleep_ns = SLEEP_MOST_NS;
	return sleep_ns < SLEEP_LEAST_NS ? SLEEP_LEAST_NS : (uint64_t)sleep_ns;
}

/* The folding process. Never returns. */
static void keep_folding(const char *output, uint64_t most_bytes, pid_t parent)
{
	struct watch watch = { .output = output,
		.most_bytes = most_bytes,
		.rest_ns = REST_LEAST_NS,
		.said = said_so_far };
	uint64_t sleep_ns = SLEEP_LEAST_NS;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (nice(NICENESS) == -1)
		errno = 0; /* as it is, then */
	for (;;) {
		sleep_for(sleep_ns);
		look_around(&watch);
		rest_after_failure(&watch);
		sleep_ns = next_sleep(&watch, sleep_ns);
	}
}

pid_t bp_folding_start(const char *output, uint64_t most_bytes)
{
	static const int quiet[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	const pid_t parent = getpid();
	void *shared = mmap(NULL, sizeof *said_so_far, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	said_so_far = shared == MAP_FAILED ? NULL : shared;
	const pid_t folder = fork();
	if (folder < 0) {
		bp_say(stderr, "bytepoll: --max-size: no process could be made: %s",
			strerror(errno));
		return 0;
	}
	if (folder > 0)
		return folder;
	/* What the terminal and a supervisor send is for the program. */
	for (size_t i = 0; i < BP_COUNT(quiet); i++)
		sigaction(quiet[i], &ignored, NULL);
	/* A reader of our standard output must see it end when the program does. */
	const int nothing = open("/dev/null", O_RDWR);
	if (nothing >= 0) {
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
	}
	keep_folding(output, most_bytes, parent);
	return 0;
}

/* The child of the end: folds, and leaves in shared memory what came of it. Ctrl-C is for it, and
 * is no loss: a folding that is cut short has not been. */
static void fold_and_leave(struct watch *watch)
{
	const int interrupts[] = { SIGINT, SIGQUIT };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	for (size_t i = 0; i < BP_COUNT(interrupts); i++)
		sigaction(interrupts[i], &plain, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	look_around(watch);
	if (watch->said != NULL) {
		watch->said->failed = watch->failed;
		watch->said->busy = watch->busy;
		watch->said->largest_bytes = watch->largest_bytes;
		watch->said->done = true;
	}
	_exit(0);
}

/* Waits until the folding child has ended; after a while it says what it waits for. */
static bool wait_for_folding(pid_t child, const struct watch *watch)
{
	const uint64_t tell_ns = bp_system_time_ns(CLOCK_MONOTONIC) + TELL_NS;
	bool told = false;
	int status = 0;
	pid_t ended;
	while ((ended = waitpid(child, &status, told ? 0 : WNOHANG)) == 0 ||
		(ended < 0 && errno == EINTR)) {
		if (!told && bp_system_time_ns(CLOCK_MONOTONIC) >= tell_ns) {
			bp_say(stderr,
				"bytepoll: --max-size: the program has ended; folding %llu MiB "
				"of its last records (Ctrl-C leaves them as they are)",
				(unsigned long long)(bp_fold_disk_bytes(watch->output) >> 20));
			told = true;
		} else if (!told) {
			sleep_for(WAIT_STEP_NS / 5);
		}
	}
	return ended == child && WIFEXITED(status);
}

/* Folds once more, in a process of its own, so that this one can tell of it and be interrupted. */
static void fold_at_end(struct watch *watch)
{
	const int interrupts[] = { SIGINT, SIGQUIT };
	struct sigaction ignored = { .sa_handler = SIG_IGN }, before[BP_COUNT(interrupts)];
	if (watch->said == NULL) {
		look_around(watch);
		return;
	}
	watch->said->done = false;
	for (size_t i = 0; i < BP_COUNT(interrupts); i++)
		sigaction(interrupts[i], &ignored, &before[i]);
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0)
		fold_and_leave(watch);
	if (child < 0)
		look_around(watch);
	else if (wait_for_folding(child, watch) && watch->said->done) {
		watch->failed = watch->said->failed;
		watch->busy = watch->said->busy;
		watch->largest_bytes = watch->said->largest_bytes;
	}
	for (size_t i = 0; i < BP_COUNT(interrupts); i++)
		sigaction(interrupts[i], &before[i], NULL);
}

void bp_folding_end(pid_t folder, const char *output, uint64_t most_bytes)
{
	struct watch watch = { .output = output, .most_bytes = most_bytes, .said = said_so_far };
	int status = 0;
	if (folder == 0)
		return;
	kill(folder, SIGKILL);
	while (waitpid(folder, &status, 0) < 0 && errno == EINTR)
		;
	watch.wait_until_ns = bp_system_time_ns(CLOCK_MONOTONIC) + WAIT_MOST_NS;
	fold_at_end(&watch);
	if (!watch.failed && !watch.busy && watch.largest_bytes > 2 * most_bytes)
		bp_say(stderr,
			"bytepoll: --max-size: a file takes %llu MiB: its objects differ too much "
			"to be folded further; use a larger --interval",
			(unsigned long long)(watch.largest_bytes >> 20));
}
