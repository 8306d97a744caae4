/* SPDX-License-Identifier: MIT */
/*
 * What fills FILE.resident: `run` looks at the resident memory of the first process from outside
 * while the program runs, and `attach --duration` at that of its process: at /proc/PID/status,
 * which takes none of its locks but the one of its signal handlers, for less than a microsecond.
 * Looks at its mappings, which fill FILE.mappings, are rare (cli/mappings/mappings_watch.h).
 * Not thread-safe.
 */
#ifndef BP_CLI_RUN_RESIDENT_WATCH_H
#define BP_CLI_RUN_RESIDENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/mappings/mappings_watch.h"
#include "resident/resident.h"

/* Looking on. Zeroed: nothing is looked at. */
struct bp_resident_watch {
	struct bp_resident resident;
	int status; /* of /proc/PID/status */
	uint64_t began_ns, next_ns, written_ns;
	uint64_t clock_offset_ns; /* base/clock.h: points have the machine's time */
	uint32_t threads_most;
	const char *file; /* the trace */
	struct bp_mappings_watch mappings;
	bool on;
};

/* Begins; where that is not possible nothing is looked at, silently: it is only for the reports.
 * `file`, the trace, must stay. */
void bp_resident_watch_begin(struct bp_resident_watch *watch, pid_t pid, const char *file);

/* Looks, if it is time to. Returns the nanoseconds until the next look is due. */
uint64_t bp_resident_watch_step(struct bp_resident_watch *watch);

/* Waits until the process has ended (it is not reaped), or a signal handler ran, looking on
 * meanwhile and writing FILE.resident now and then. False: this system cannot wait so, or nothing
 * is looked at; wait in another way. */
bool bp_resident_watch_wait(struct bp_resident_watch *watch, int pidfd);

/* Ends. `most_bytes`: ru_maxrss; 0: nobody has been told it, and a last look tells it of a process
 * that goes on. Writes FILE.resident for the last time, beside the trace if that is there and
 * if at least one point was seen; it is not an error if not. */
void bp_resident_watch_end(struct bp_resident_watch *watch, uint64_t most_bytes);

#endif
