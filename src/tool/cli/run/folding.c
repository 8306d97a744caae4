/* SPDX-License-Identifier: MIT */
/*
 * The folding process looks at the disk that the files of the run take, sleeps, and folds and packs
 * what is too large. It is a process of its own so that `run` can wait for the program and for
 * nothing else; it runs at low priority, and may be killed at any moment.
 *
 * How long it sleeps follows from how fast the files grow: until they could have filled half of
 * what is left to the bound, and from 20 ms to 2 s. A page of a file is written by a store, so
 * there is no event to wait for; but there is one when a process makes its file in FILE.d, and
 * then the next look is 20 ms away.
 *
 * The bound is for all files together. Traces of processes that have ended are packed first
 * (tree_packed.h), where there are many or the files take a quarter of the bound: what each of
 * them takes then, some 200 bytes, is not given back. What is left is shared fairly: there is a
 * limit for each file with which all of them stay within the bound, and files above it are folded
 * to half of it, the newest eighth left as it is, so that each folding frees room for many chunks.
 * A file that cannot be folded (a full disk, a file system without holes) is said once, and tried
 * again after 2 s, after 4 s and so on, and when the program has ended: disks are made room on. Who
 * reads a file then is waited for, but not for ever: `run` has to end.
 *
 * Without a bound nothing is folded, and only traces without a sample are packed, when there are
 * many: a server that forks for each request would leave a file of 16 KiB for each.
 */
#include "cli/run/folding.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/place.h"
#include "base/system_call.h"
#include "cli/files/tree.h"
#include "cli/files/tree_packed.h"
#include "cli/say.h"
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
#define PACKED_TOGETHER 64u /* so many traces are worth a block of the packed file */
#define EMPTY_TOGETHER 256u /* without a bound: so many traces without a sample are worth packing */
#define LIMIT_LEAST_BYTES ((uint64_t)256 << 10) /* a file is not folded to less */
#define TELL_NS 2000000000u			/* a shorter wait for the end says nothing */

/* What was said already: shared by the folding process and the one that ends it. */
struct said {
	uint32_t count;
	struct bp_error messages[MESSAGES];
	/* What the folding at the end came to. */
	bool done, failed, busy;
	uint64_t bytes, packed_bytes;
};

struct watch {
	const char *output;
	uint64_t most_bytes;
	uint64_t bytes;	       /* disk of all files, when they were last looked at */
	uint64_t grown_bytes;  /* since the look before */
	uint64_t packed_bytes; /* of the disk, the packed file */
	struct bp_tree_packing packing;
	bool at_end;
	int events;			 /* of inotify; -1: none */
	int beside;			 /* its watch of the folder of FILE */
	bool has_folder;		 /* FILE.d is watched */
	uint64_t rest_until_ns, rest_ns; /* after a failure */
	uint64_t wait_until_ns;		 /* for a reader */
	bool failed, busy;		 /* some file, when last looked at */
	struct said *said;		 /* NULL: no memory, nothing is said */
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

/* Is there enough in a file itself that folding is worth writing its folded part again? That may be
 * large, for objects that are all different cannot be folded to any size. */
static bool is_worth_it(const struct bp_place *place, uint64_t bytes, uint64_t limit)
{
	struct stat status;
	if (bytes < limit || fstatat(place->folder, bp_place_name(place), &status, 0) != 0)
		return false;
	const uint64_t own = (uint64_t)status.st_blocks * 512;
	const uint64_t folded = bytes > own ? bytes - own : 0;
	return own >= limit / 4 && own >= folded / 2;
}

/* Folds one file of an open folder; whoever reads it is waited for until wait_until_ns. */
static void fold(struct watch *watch, int folder, const char *path, uint64_t limit)
{
	const struct bp_fold_options options = {
		.keep_bytes = limit / 8, .at_least = limit, .folded_bytes = limit / 2
	};
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
static void fold_file(
	struct watch *watch, const struct bp_tree *tree, struct bp_tree_file *file, uint64_t limit)
{
	/* FILE itself is looked up in its folder, which is opened anew: it may be moved. */
	const int folder = file->first ? bp_place_open_folder(file->path) : dirfd(tree->folder);
	if (folder < 0)
		return;
	const struct bp_place place = { folder, file->path };
	if (is_worth_it(&place, file->disk_bytes, limit)) {
		fold(watch, folder, file->path, limit);
		file->disk_bytes = bp_fold_disk_bytes(file->path);
	}
	if (file->first)
		close(folder);
}

static int by_size(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* The largest limit for each file with which all of them together take `room` at most. */
static uint64_t fair_limit(const struct bp_tree *tree, uint64_t room)
{
	uint64_t *sizes = calloc(tree->count + 1, sizeof *sizes);
	uint64_t limit = room;
	if (sizes == NULL || tree->count == 0) {
		free(sizes);
		return room;
	}
	for (size_t i = 0; i < tree->count; i++)
		sizes[i] = tree->files[i].disk_bytes;
	qsort(sizes, tree->count, sizeof *sizes, by_size);
	/* The smallest ones stay as they are as long as they leave as much to each other one. */
	for (size_t i = 0; i < tree->count; i++) {
		limit = room / (tree->count - i);
		if (sizes[i] > limit)
			break;
		room -= sizes[i];
		limit = UINT64_MAX;
	}
	free(sizes);
	return limit < LIMIT_LEAST_BYTES ? LIMIT_LEAST_BYTES : limit;
}

static uint64_t packed_disk(const struct bp_tree *tree)
{
	struct stat status;
	if (tree->folder == NULL || fstatat(dirfd(tree->folder), BP_PACK_NAME, &status, 0) != 0)
		return 0;
	return (uint64_t)status.st_blocks * 512;
}

static uint64_t disk_of(const struct bp_tree *tree)
{
	uint64_t bytes = packed_disk(tree);
	for (size_t i = 0; i < tree->count; i++)
		bytes += tree->files[i].disk_bytes;
	return bytes;
}

/* Packs, where that is worth it; the tree is read anew. False: it cannot be read any more. */
static bool pack(struct watch *watch, struct bp_tree *tree)
{
	struct bp_error error = { 0 };
	const bool large = watch->most_bytes > 0 && disk_of(tree) >= watch->most_bytes / 4;
	const bool goes_on = watch->at_end && packed_disk(tree) > 0;
	const bool begins = watch->most_bytes == 0 && !watch->packing.is_open;
	watch->packing.at_least = begins ? EMPTY_TOGETHER : large || goes_on ? 1 : PACKED_TOGETHER;
	watch->packing.only_empty = watch->most_bytes == 0;
	if (tree->count <= watch->packing.at_least)
		return true;
	if (!bp_tree_pack(&watch->packing, tree, &error))
		say_once(watch->said, &error);
	bp_tree_finish(tree);
	return bp_tree_read_files(watch->output, tree, NULL);
}

static void look_around(struct watch *watch)
{
	struct bp_tree tree;
	watch->failed = false;
	if (!bp_tree_read_files(watch->output, &tree, NULL))
		return;
	const uint64_t before = disk_of(&tree);
	watch->grown_bytes = before > watch->bytes ? before - watch->bytes : 0;
	if (!pack(watch, &tree))
		return;
	watch->packed_bytes = packed_disk(&tree);
	/* What is packed cannot be folded: half of the bound at least is for the rest. */
	const uint64_t room = watch->packed_bytes < watch->most_bytes / 2
				      ? watch->most_bytes - watch->packed_bytes
				      : watch->most_bytes / 2;
	const uint64_t limit = fair_limit(&tree, room);
	const bool rests = bp_system_time_ns(CLOCK_MONOTONIC) < watch->rest_until_ns;
	for (size_t i = 0; watch->most_bytes > 0 && !rests && i < tree.count; i++)
		if (tree.files[i].first || bp_tree_owns_folder(&tree))
			fold_file(watch, &tree, &tree.files[i], limit);
	watch->bytes = disk_of(&tree);
	bp_tree_finish(&tree);
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

/* Until the files could have come half the way to the bound. */
static uint64_t next_sleep(const struct watch *watch, uint64_t slept_ns)
{
	const uint64_t left =
		watch->bytes < watch->most_bytes ? watch->most_bytes - watch->bytes : 0;
	double sleep_ns = SLEEP_MOST_NS;
	if (watch->grown_bytes > 0 && watch->most_bytes > 0)
		sleep_ns = (double)slept_ns * (double)left / (2 * (double)watch->grown_bytes);
	/* A program may begin to allocate any time: the longer nothing happened, the longer. */
	if (sleep_ns > 2 * (double)slept_ns)
		sleep_ns = 2 * (double)slept_ns;
	if (sleep_ns > SLEEP_MOST_NS)
		sleep_ns = SLEEP_MOST_NS;
	return sleep_ns < SLEEP_LEAST_NS ? SLEEP_LEAST_NS : (uint64_t)sleep_ns;
}

/* Sees to it that files made in FILE.d are told, or until that is there, what is made beside it. */
static void watch_folder(struct watch *watch)
{
	char path[PATH_MAX];
	const uint32_t what = IN_CREATE | IN_ONLYDIR;
	if (watch->has_folder)
		return;
	snprintf(path, sizeof path, "%.*s.d", PATH_MAX - 3, watch->output);
	watch->has_folder = inotify_add_watch(watch->events, path, what | IN_DONT_FOLLOW) >= 0;
	if (watch->has_folder) {
		inotify_rm_watch(watch->events, watch->beside);
		return;
	}
	snprintf(path, sizeof path, "%.*s", (int)(bp_last_part(watch->output) - watch->output),
		watch->output);
	watch->beside = inotify_add_watch(watch->events, path[0] != '\0' ? path : ".", what);
}

/* Sleeps, with a bound until 20 ms after a file is made in FILE.d at most. */
static void sleep_or_event(struct watch *watch, uint64_t duration_ns)
{
	char events[4096];
	struct pollfd wanted = { .fd = watch->events, .events = POLLIN };
	if (watch->events < 0 || duration_ns <= SLEEP_LEAST_NS) {
		sleep_for(duration_ns);
		return;
	}
	watch_folder(watch);
	if (poll(&wanted, 1, (int)(duration_ns / 1000000)) > 0)
		sleep_for(SLEEP_LEAST_NS);
	while (read(watch->events, events, sizeof events) > 0)
		;
}

/* The folding process. Never returns. */
static void keep_folding(const char *output, uint64_t most_bytes, pid_t program, pid_t parent)
{
	struct watch watch = { .output = output,
		.most_bytes = most_bytes,
		.rest_ns = REST_LEAST_NS,
		.packing = { .spared = program },
		.events = most_bytes > 0 ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1,
		.said = said_so_far };
	uint64_t sleep_ns = most_bytes > 0 ? SLEEP_LEAST_NS : SLEEP_MOST_NS;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (nice(NICENESS) == -1)
		errno = 0; /* as it is, then */
	for (;;) {
		sleep_or_event(&watch, sleep_ns);
		look_around(&watch);
		rest_after_failure(&watch);
		sleep_ns = next_sleep(&watch, sleep_ns);
	}
}

pid_t bp_folding_start(const char *output, uint64_t most_bytes, pid_t program)
{
	static const int quiet[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	const pid_t parent = getpid();
	void *shared = mmap(NULL, sizeof *said_so_far, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	said_so_far = shared == MAP_FAILED ? NULL : shared;
	const pid_t folder = fork();
	if (folder < 0 && most_bytes == 0)
		return 0;
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
	keep_folding(output, most_bytes, program, parent);
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
		watch->said->bytes = watch->bytes;
		watch->said->packed_bytes = watch->packed_bytes;
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
		watch->bytes = watch->said->bytes;
		watch->packed_bytes = watch->said->packed_bytes;
	}
	for (size_t i = 0; i < BP_COUNT(interrupts); i++)
		sigaction(interrupts[i], &before[i], NULL);
}

/* What is left although all was done that can be. */
static void say_what_is_left(const struct watch *watch)
{
	const uint64_t rest = watch->bytes - watch->packed_bytes;
	if (rest > 2 * watch->most_bytes)
		bp_say(stderr,
			"bytepoll: --max-size: the files take %llu MiB: their objects differ too "
			"much to be folded further; use a larger --interval",
			(unsigned long long)(watch->bytes >> 20));
	else if (watch->packed_bytes > watch->most_bytes / 2)
		bp_say(stderr,
			"bytepoll: --max-size: what processes that ended recorded takes %llu MiB "
			"in %s.d/" BP_PACK_NAME ", and cannot be folded further; use a larger "
			"--interval",
			(unsigned long long)(watch->packed_bytes >> 20), watch->output);
}

void bp_folding_end(pid_t folder, const char *output, uint64_t most_bytes, pid_t program)
{
	struct watch watch = { .output = output,
		.most_bytes = most_bytes,
		.packing = { .spared = program },
		.events = -1,
		.at_end = true,
		.said = said_so_far };
	int status = 0;
	if (folder == 0)
		return;
	kill(folder, SIGKILL);
	while (waitpid(folder, &status, 0) < 0 && errno == EINTR)
		;
	if (most_bytes == 0)
		return;
	watch.wait_until_ns = bp_system_time_ns(CLOCK_MONOTONIC) + WAIT_MOST_NS;
	fold_at_end(&watch);
	if (!watch.failed && !watch.busy)
		say_what_is_left(&watch);
}
