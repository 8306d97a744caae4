/* SPDX-License-Identifier: MIT */
/*
 * Of an image that began no trace nothing is known but the path that its exec named, in the root
 * and as the user of the process that became it, or that started it. The path is looked at in ours:
 * it may be another file there, so that only what would explain it (file capabilities, a sanitizer
 * ...) is said.
 */
#include "cli/run/recorded_images.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/clock.h"
#include "base/system_call.h"
#include "cli/run/program.h"
#include "cli/say.h"
#include "model/gaps/unseen.h"
#include "trace/format.h"

#define SETTLED_NS 1000000000u

const char *bp_unprofiled_text(uint32_t reason)
{
	switch (reason) {
	case BP_UNPROFILED_FOREIGN_MALLOC:
		return "its malloc is its own (linked in, or preloaded before the recorder): build "
		       "it with libc's, or with its allocator as a shared library";
	case BP_UNPROFILED_HOOKS:
		return "the recorder's hooks could not be set up";
	case BP_UNPROFILED_OTHER_TOOL:
		return "another profiler or a sanitizer owns its malloc: run it without";
	case BP_UNPROFILED_OTHER_LIBC:
		return "its C library is not glibc (musl, for instance), and the recorder is built "
		       "for glibc: profile a build of it for glibc";
	default:
		return "the recorder stayed off";
	}
}

/* The first process and how many there are of a kind. */
struct kind {
	const struct bp_process *first;
	unsigned long long count;
};

static void count(struct kind *kind, const struct bp_process *process, uint64_t images)
{
	if (images > 0 && kind->count == 0)
		kind->first = process;
	kind->count += images;
}

/* Has what this number became at that time had the time to begin a trace? */
static bool is_settled(uint32_t pid, uint64_t time_ns)
{
	return kill((pid_t)pid, 0) != 0 || bp_clock_machine_ns() > time_ns + SETTLED_NS;
}

/* Is there a program at this path? Whether an exec in a vfork child succeeded is not recorded: one
 * of a file that is not there, or no program, did not. */
static bool is_program(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Programs that were started by vfork and began no trace, and the first of them. */
struct vanished {
	const struct bp_started *first;
	unsigned long long count;
};

static struct vanished vanished_of(const struct bp_profile *profile)
{
	struct vanished vanished = { 0 };
	uint32_t *numbers, count;
	if (!bp_started_without_trace(profile, &numbers, &count))
		return vanished;
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_started *started = &profile->started.data[numbers[i]];
		if (!is_settled(started->pid, started->time_ns) ||
			!is_program(bp_profile_text(profile, started->path)))
			continue;
		if (vanished.count++ == 0)
			vanished.first = started;
	}
	free(numbers);
	return vanished;
}

static const char *plural(unsigned long long number)
{
	return number == 1 ? "" : "s";
}

/* Why an image began no trace, as far as its path tells. */
static void say_why(const char *path, const char *recorder)
{
	struct bp_program program = { 0 };
	snprintf(program.path, sizeof program.path, "%s", path);
	bp_program_examine(&program);
	const char *obstacle = bp_obstacle_text(program.obstacle);
	if (*obstacle != '\0')
		bp_say(stderr, ": it %s", obstacle);
	else
		bp_say(stderr,
			": its loader could not open %s, or nothing could be written beside the "
			"trace (another root or user, or a read-only one?)",
			recorder);
}

/* "PATH, which PROGRAM became: why" */
static void say_unexplained(
	const struct bp_profile *profile, const struct bp_process *process, const char *recorder)
{
	const char *path = bp_profile_text(profile, process->became);
	const char *from = bp_profile_text(profile, process->program);
	bp_say_part(stderr, "%s, which %s (pid %u) became", *path != '\0' ? path : "a program",
		bp_last_part(from), process->pid);
	say_why(path, recorder);
}

static void say_vanished(
	const struct bp_profile *profile, const struct bp_started *started, const char *recorder)
{
	const char *path = bp_profile_text(profile, started->path);
	const struct bp_process *by = &profile->processes.data[started->by.i];
	bp_say_part(stderr, "%s (pid %u), which %s (pid %u) started", path, started->pid,
		bp_last_part(bp_profile_text(profile, by->program)), by->pid);
	say_why(path, recorder);
}

static void say_unseen(const struct bp_profile *profile, const struct bp_process *process)
{
	const char *path = bp_profile_text(profile, process->unseen_example);
	bp_say(stderr, "%s: %s", path, bp_unseen_text(process->unseen_reason, path));
}

void bp_recorded_images_print(const struct bp_profile *profile, const char *recorder, bool alone)
{
	struct kind off = { 0 }, unseen = { 0 }, unexplained = { 0 };
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		count(&off, process, !process->profiled);
		count(&unseen, process, process->unseen_execs);
		count(&unexplained, process,
			bp_process_went_on_unexplained(profile, process) &&
				is_settled(process->pid, process->end_time_ns));
	}
	const struct vanished vanished = alone ? (struct vanished){ 0 } : vanished_of(profile);
	const unsigned long long without = unexplained.count + vanished.count;
	if (off.count > 0)
		bp_say(stderr, "bytepoll: %llu program%s ran unprofiled: %s: %s", off.count,
			plural(off.count), bp_profile_text(profile, off.first->program),
			bp_unprofiled_text(off.first->unprofiled_reason));
	if (unseen.count > 0) {
		bp_say_part(stderr, "bytepoll: %llu program%s not seen: ", unseen.count,
			unseen.count == 1 ? " was" : "s were");
		say_unseen(profile, unseen.first);
	}
	if (without == 0)
		return;
	bp_say_part(stderr, "bytepoll: %llu program%s ran without the recorder: ", without,
		plural(without));
	if (unexplained.count > 0)
		say_unexplained(profile, unexplained.first, recorder);
	else
		say_vanished(profile, vanished.first, recorder);
}

/* The last image of the process that the profile begins with. */
static const struct bp_process *last_of_first(const struct bp_profile *profile)
{
	const struct bp_process *last = &profile->processes.data[profile->root.i];
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->pid == last->pid && process->start_time_ns > last->start_time_ns)
			last = process;
	}
	return last;
}

/* What the process became, by the record of its last exec. */
static void say_became(const struct bp_profile *profile, const struct bp_process *process)
{
	const char *path = bp_profile_text(profile, process->became);
	const bool same = process->became.i == process->unseen_example.i;
	bp_say(stderr, "%s: %s", path, bp_unseen_text(same ? process->unseen_reason : 0, path));
}

bool bp_recorded_images_explain(
	const struct bp_profile *profile, const char *recorder, const char *before)
{
	if (profile->root.i == 0)
		return false;
	const struct bp_process *last = last_of_first(profile);
	if (bp_process_went_on_unexplained(profile, last)) {
		fputs(before, stderr);
		say_unexplained(profile, last, recorder);
		return true;
	}
	if (last->became_unseen && bp_process_went_on_elsewhere(profile, last)) {
		fputs(before, stderr);
		say_became(profile, last);
		return true;
	}
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->unseen_execs == 0 ||
			!bp_is_valgrind(bp_profile_text(profile, process->unseen_example)))
			continue;
		fputs(before, stderr);
		say_unseen(profile, process);
		return true;
	}
	return false;
}
