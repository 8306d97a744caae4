/* SPDX-License-Identifier: MIT */
/*
 * The folding process looks at the disk that each file takes, sleeps, and folds what is too large.
 * It is a process of its own so that `run` can wait for the program and for nothing else; it runs at
 * low priority, and may be killed at any moment.
 *
 * How long it sleeps follows from how fast the files grow: until the fastest could have filled half
 * of what is left to its bound, and from 20 ms to 2 s. A page of the file is written by a store, so
 * there is no event to wait for.
 *
 * A file is folded to half of the bound, the newest eighth left as it is, so that each folding frees
 * room for many chunks. One that cannot be folded (a file system without holes) is said once and
 * left alone.
 */
#include "cli/folding.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "fold/fold.h"

#define SLEEP_LEAST_NS 20000000u
#define SLEEP_MOST_NS 2000000000u
/* Less than the program, but on a busy machine enough to keep up with it. */
#define NICENESS 5

struct watch {
	const char *output;
	uint64_t most_bytes;
	uint64_t largest_bytes, largest_before; /* disk of the largest file */
	bool failed;				/* said once */
};

/* Is there enough in FILE itself that folding is worth writing FILE.fold again? That may be large, for
 * objects that are all different cannot be folded to any size. */
static bool is_worth_it(const struct watch *watch, const char *path, uint64_t bytes)
{
	struct stat status;
	if (bytes < watch->most_bytes || stat(path, &status) != 0)
		return false;
	const uint64_t own = (uint64_t)status.st_blocks * 512;
	const uint64_t folded = bytes > own ? bytes - own : 0;
	return own >= watch->most_bytes / 4 && own >= folded / 2;
}

/* Folds one file if it is too large. With `wait` whoever reads it is waited for. */
static void look_at(struct watch *watch, const char *path, bool wait)
{
	const struct bp_fold_options options = { .keep_bytes = watch->most_bytes / 8,
		.at_least = watch->most_bytes,
		.folded_bytes = watch->most_bytes / 2 };
	struct bp_fold_result result = { 0 };
	struct bp_error error = { 0 };
	uint64_t bytes = bp_fold_disk_bytes(path);
	if (is_worth_it(watch, path, bytes) && !watch->failed) {
		watch->failed = !bp_fold(path, &options, wait, &result, &error);
		if (watch->failed)
			fprintf(stderr, "bytepoll: --max-size: %s\n", error.text);
		bytes = bp_fold_disk_bytes(path);
	}
	if (bytes > watch->largest_bytes)
		watch->largest_bytes = bytes;
}

static void look_around(struct watch *watch, bool wait)
{
	char path[PATH_MAX];
	struct dirent *entry;
	watch->largest_before = watch->largest_bytes;
	watch->largest_bytes = 0;
	look_at(watch, watch->output, wait);
	snprintf(path, sizeof path, "%s.d", watch->output);
	DIR *directory = opendir(path);
	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL) {
		const size_t length = strlen(entry->d_name);
		if (length <= 4 || strcmp(entry->d_name + length - 4, ".bpt") != 0)
			continue;
		const int written =
			snprintf(path, sizeof path, "%s.d/%s", watch->output, entry->d_name);
		if (written > 0 && (size_t)written < sizeof path)
			look_at(watch, path, wait);
	}
	closedir(directory);
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
	struct watch watch = { .output = output, .most_bytes = most_bytes };
	uint64_t sleep_ns = SLEEP_LEAST_NS;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (nice(NICENESS) == -1)
		errno = 0; /* as it is, then */
	for (;;) {
		const struct timespec pause = { (time_t)(sleep_ns / 1000000000u),
			(long)(sleep_ns % 1000000000u) };
		nanosleep(&pause, NULL);
		look_around(&watch, false);
		if (watch.failed)
			_exit(1);
		sleep_ns = next_sleep(&watch, sleep_ns);
	}
}

pid_t bp_folding_start(const char *output, uint64_t most_bytes)
{
	static const int quiet[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	const pid_t parent = getpid();
	const pid_t folder = fork();
	if (folder < 0) {
		fprintf(stderr, "bytepoll: --max-size: no process could be made: %s\n",
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

void bp_folding_end(pid_t folder, const char *output, uint64_t most_bytes)
{
	struct watch watch = { .output = output, .most_bytes = most_bytes };
	int status = 0;
	if (folder == 0)
		return;
	kill(folder, SIGKILL);
	while (waitpid(folder, &status, 0) < 0 && errno == EINTR)
		;
	/* It gave up, and has said why. */
	watch.failed = WIFEXITED(status);
	look_around(&watch, true);
	if (!watch.failed && watch.largest_bytes > 2 * most_bytes)
		fprintf(stderr,
			"bytepoll: --max-size: a file takes %llu MiB: its objects differ too much "
			"to be folded further; use a larger --interval\n",
			(unsigned long long)(watch.largest_bytes >> 20));
}
