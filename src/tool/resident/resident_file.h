/* SPDX-License-Identifier: MIT */
/*
 * FILE.resident: the resident memory of the first process of a run (docs/trace-format.md, section
 * 6), as a file. `run` writes it (cli/run/resident_watch.h), and the commands that report read it.
 * The table itself, and what is made of it: resident/resident.h. Not thread-safe.
 */
#ifndef BP_RESIDENT_RESIDENT_FILE_H
#define BP_RESIDENT_RESIDENT_FILE_H

#include "base/error.h"
#include "resident/resident.h"

#define BP_RESIDENT_SUFFIX ".resident"
#define BP_RESIDENT_POINTS_MAX 4096

/* Writes and reads the file at `path`; the trace id says which run it is of. The file is replaced
 * as a whole (by rename), but never one of something else. */
bool bp_resident_write(const char *path, const struct bp_resident *resident,
	const uint8_t trace_id[16], struct bp_error *error);
/* Is the file at `path` one of ours? */
bool bp_resident_is_ours(const char *path);
/* Removes it, if it is one of ours. */
void bp_resident_remove(const char *path);

/* What is known of the run whose trace is at `file`, which `profile` was read from: true, with an
 * empty table if there is nothing. False, with an empty table and what to warn of: FILE.resident is
 * torn, damaged, or of another run. Several unrelated files: nothing. */
bool bp_resident_read(const char *file, const struct bp_profile *profile,
	struct bp_resident *ret_resident, struct bp_error *error);

#endif
