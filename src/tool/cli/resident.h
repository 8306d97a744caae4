/* SPDX-License-Identifier: MIT */
/*
 * FILE.resident: the resident memory of the first process of a run, which `run` looks at from
 * outside while the program runs (docs/trace-format.md, section 6). Written by run.c, read by the
 * commands that report. The table itself, and what is made of it: resident/resident.h.
 *
 * The program notices nothing: what is read is /proc/PID/status alone, which takes none of its
 * locks but the one of its signal handlers, for less than a microsecond. One thread.
 */
#ifndef BP_CLI_RESIDENT_H
#define BP_CLI_RESIDENT_H

#include <sys/types.h>

#include "base/error.h"
#include "resident/resident.h"

#define BP_RESIDENT_SUFFIX ".resident"
#define BP_RESIDENT_NEW_SUFFIX ".new" /* behind that: while it is written */
#define BP_RESIDENT_POINTS_MAX 4096

/* Looking on. Zeroed: nothing is looked at. */
struct bp_resident_watch {
	struct bp_resident resident;
	int status; /* of /proc/PID/status */
	uint64_t began_ns, next_ns, written_ns;
	uint32_t threads_most;
	const char *file; /* the trace */
	bool on;
};

/* Begins; where that is not possible nothing is looked at, silently: it is only for the reports.
 * `file`, the trace, must stay. */
void bp_resident_watch_begin(struct bp_resident_watch *watch, pid_t pid, const char *file);

/* Waits until the process has ended (it is not reaped), or a signal handler ran, looking on
 * meanwhile and writing FILE.resident now and then. False: this system cannot wait so, or nothing
 * is looked at; wait in another way. */
bool bp_resident_watch_wait(struct bp_resident_watch *watch, int pidfd);

/* Ends. `most_bytes`: ru_maxrss. Writes FILE.resident for the last time, beside the trace if that
 * is there and if at least one point was seen; it is not an error if not. */
void bp_resident_watch_end(struct bp_resident_watch *watch, uint64_t most_bytes);

/* Writes and reads the file at `path`; the trace id says which run it is of. The file is replaced
 * as a whole (by rename), but never one of something else. */
bool bp_resident_write(const char *path, const struct bp_resident *resident,
	const uint8_t trace_id[16], struct bp_error *error);
/* Is the file at `path` one of ours? */
bool bp_resident_is_ours(const char *path);
/* Removes it, if it is one of ours. */
void bp_resident_remove(const char *path);
bool bp_resident_parse(const char *path, uint8_t ret_trace_id[16], struct bp_resident *ret_resident,
	struct bp_error *error);

/* What is known of the run whose trace is at `file`, which `profile` was read from: true, with an
 * empty table if there is nothing. False, with an empty table and what to warn of: FILE.resident is
 * torn, damaged, or of another run. Several unrelated files: nothing. */
bool bp_resident_read(const char *file, const struct bp_profile *profile,
	struct bp_resident *ret_resident, struct bp_error *error);

#endif
