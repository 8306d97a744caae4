/* SPDX-License-Identifier: MIT */
/*
 * See recording.h. While it waits the command looks ten times a second whether there is still
 * something to wait for: at the trace's state page, and at one file of /proc. The signals have
 * their own meaning again once it is detached: some senders, such as timeout(1), signal both the
 * command and its group, and the second one must not stop the detaching, which ends by itself.
 */
#include "cli/attach/recording.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "cli/attach/tree_calls.h"
#include "cli/process/processes.h"
#include "cli/process/recorder_file.h"
#include "cli/run/recorded.h"
#include "cli/say.h"
#include "trace/format.h"

#define LOOK_NS 100000000u

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bp_recording_begin(struct bp_recording *recording)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct bp_process_stat stat = { 0 };
	sigemptyset(&recording->watched);
	for (size_t i = 0; i < BP_COUNT(signals); i++) {
		struct sigaction action;
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&recording->watched, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &recording->watched, &recording->found);
	recording->until_ns = now_ns() + recording->duration_ns;
	(void)bp_process_stat_read(recording->pid, &stat);
	recording->start_ticks = stat.start_ticks;
	recording->is_open = bp_traced_open(recording->pid, false, &recording->traced, NULL);
	bp_resident_watch_begin(&recording->watch, recording->pid, recording->file);
}

/* Is there still something to wait for? */
static bool goes_on(const struct bp_recording *recording)
{
	struct bp_process_stat stat;
	return bp_process_stat_read(recording->pid, &stat) && stat.state != 'Z' &&
	       stat.state != 'X' && stat.start_ticks == recording->start_ticks &&
	       (!recording->is_open ||
		       __atomic_load_n(&recording->traced.state->state, __ATOMIC_ACQUIRE) != 1);
}

/* The same, to be sure: is it this trace that the process writes? */
static bool still_runs(const struct bp_recording *recording)
{
	return goes_on(recording) && (!recording->is_open || bp_traced_runs(&recording->traced));
}

static void wait_for_end(struct bp_recording *recording)
{
	bool asked = false;
	while (!asked && goes_on(recording)) {
		const uint64_t now = now_ns();
		if (now >= recording->until_ns)
			break;
		const uint64_t due = bp_resident_watch_step(&recording->watch);
		uint64_t left = recording->until_ns - now;
		left = due < left ? due : left;
		const struct timespec pause = { .tv_nsec =
							(long)(left < LOOK_NS ? left : LOOK_NS) };
		asked = sigtimedwait(&recording->watched, NULL, &pause) > 0;
	}
	if (asked && !recording->quiet)
		fputc('\n', stderr); /* behind the terminal's ^C */
}

static void restore_signals(const struct bp_recording *recording)
{
	const struct timespec now = { 0 };
	while (sigtimedwait(&recording->watched, NULL, &now) > 0)
		; /* further ones of the same kind */
	sigprocmask(SIG_SETMASK, &recording->found, NULL);
}

/* All processes that write to FILE and FILE.d. */
static bool detach(const struct bp_recording *recording, struct bp_error *error)
{
	struct bp_tree_calls calls = { .wait_ns = recording->wait_ns };
	/* (There is none if all have ended.) */
	(void)bp_tree_detach(recording->file, &calls, NULL);
	return calls.failed == 0 ||
	       bp_error_set(error,
		       "sampling ends by itself, and bytepoll detach --tree %ld ends the recording",
		       (long)recording->pid);
}

static void print(const struct bp_recording *recording)
{
	static struct bp_program program;
	char recorder[PATH_MAX] = "";
	snprintf(program.path, sizeof program.path, "%s",
		recording->is_open ? recording->traced.program : "");
	bp_program_examine(&program);
	/* (It has been found before.) */
	(void)bp_recorder_file_find(BP_RECORDER_FILE, recorder, sizeof recorder, NULL);
	bp_recorded_print(&(struct bp_recorded){ .file = recording->file,
		.program = &program,
		.recorder = recorder,
		.pid = recording->pid,
		.ended_ns = bp_clock_machine_ns(),
		.quiet = recording->quiet });
}

/* It was not we who ended it. */
static void say_early_end(const struct bp_recording *recording)
{
	const struct bp_trace_state *state = recording->is_open ? recording->traced.state : NULL;
	const bool closed = state != NULL && state->state == 1;
	bp_say(stderr, "bytepoll: process %ld %s: it was recorded until then", (long)recording->pid,
		closed && state->end_reason == BP_END_EXEC	 ? "has started another program"
		: closed && state->end_reason == BP_END_DETACHED ? "was detached by another command"
								 : "has ended");
}

bool bp_recording_end(struct bp_recording *recording, struct bp_error *error)
{
	wait_for_end(recording);
	const bool running = still_runs(recording);
	/* (What the kernel says of a process's most ever is told to its parent only.) */
	bp_resident_watch_end(&recording->watch, 0);
	const bool good = detach(recording, error);
	restore_signals(recording);
	if (!running && !recording->quiet)
		say_early_end(recording);
	if (good)
		print(recording);
	bp_traced_close(&recording->traced);
	return good;
}
