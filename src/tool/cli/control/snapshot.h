/* SPDX-License-Identifier: MIT */
/*
 * A copy of the trace of a running process as it is now, readable like any other: every record that
 * was committed at one moment, and the counters of every thread brought up to date from outside.
 * The process is not stopped and does not notice. Not thread-safe.
 */
#ifndef BP_CLI_CONTROL_SNAPSHOT_H
#define BP_CLI_CONTROL_SNAPSHOT_H

#include "base/place.h"
#include "cli/traced/traced.h"

struct bp_snapshot {
	uint64_t bytes;	  /* of the copy */
	uint64_t samples; /* in it */
	uint64_t unknown; /* trials that may have been made beyond those the copy says */
	uint32_t threads; /* running */
	uint32_t unread;  /* of these, known as they last published only */
	int refused;	  /* errno with which the process's memory could not be read, 0 */
	bool torn;	  /* records went on being committed while the cut was made */
};

/* Writes the copy to `to`, which must not exist. Nothing is left behind on failure. What was folded
 * is in FILE.fold: the caller copies that, and holds FILE's lock (flock, shared) over both. */
bool bp_snapshot_write(const struct bp_traced *traced, const struct bp_place *to,
	struct bp_snapshot *ret_snapshot, struct bp_error *error);

/* The same into an empty file that is open for writing; `name` is for errors. It stays open. */
bool bp_snapshot_write_open(const struct bp_traced *traced, int descriptor, const char *name,
	struct bp_snapshot *ret_snapshot, struct bp_error *error);

/* Copies a file that nobody writes to any more, holes left out. `to` must not exist. `source`:
 * FILE, open for reading, of the path `from`; so one that was removed meanwhile can still be
 * copied. */
bool bp_snapshot_copy_open(
	int source, const char *from, const struct bp_place *to, struct bp_error *error);
/* The same by its place alone; a link is not followed. */
bool bp_snapshot_copy(
	const struct bp_place *from, const struct bp_place *to, struct bp_error *error);

#endif
