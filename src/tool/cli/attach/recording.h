/* SPDX-License-Identifier: MIT */
/*
 * The recording of a process that was attached to for some time (`attach --duration`): it is waited
 * for, while its resident memory is looked at as `run` does (FILE.resident), ended, and printed as
 * `run` prints one. Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_RECORDING_H
#define BP_CLI_ATTACH_RECORDING_H

#include <signal.h>

#include "cli/run/resident_watch.h"
#include "cli/traced/traced.h"

/* What the caller fills; then `bp_recording_begin` the rest. */
struct bp_recording {
	pid_t pid;
	const char *file; /* the trace, absolute */
	uint64_t duration_ns;
	uint64_t wait_ns; /* how long to look for a thread that may detach */
	bool quiet;
	uint64_t until_ns;
	unsigned long long start_ticks;
	sigset_t watched, found;
	bool is_open; /* `traced` is */
	struct bp_traced traced;
	struct bp_resident_watch watch;
};

/* The process has been attached to. From now on INT, TERM and HUP, where they are not ignored, end
 * the recording and not the command. */
void bp_recording_begin(struct bp_recording *recording);

/* Waits until the time is over, one of these signals comes, or the trace ends in another way (the
 * process ends, or becomes another program, or somebody detaches it); detaches; and prints the
 * headline to stderr. False: it could not be detached, and goes on sampling for as long as
 * `wait_ns` at most. */
bool bp_recording_end(struct bp_recording *recording, struct bp_error *error);

#endif
