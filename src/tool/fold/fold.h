/* SPDX-License-Identifier: MIT */
/*
 * Folding a trace: what its older chunks say is put into FILE.fold in a compact form, and the disk
 * of those chunks is given back (docs/trace-format.md, section 5). Called by the command line,
 * never inside the profiled program; that one may run and go on appending to FILE meanwhile.
 *
 * At every moment of the work, power failures and kill -9 included, FILE and FILE.fold together say
 * the same: the new FILE.fold is written aside and put in its place in one step, it names the
 * chunks it stands for, and only then are they given back. Readers are kept out by a lock from
 * before that step to the end.
 *
 * Memory is some six times what is folded at once. Thread-safety: none needed, no state is kept.
 */
#ifndef BP_FOLD_FOLD_H
#define BP_FOLD_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bp_fold_options {
	uint64_t keep_bytes; /* leave so much of the newest chunks as it is */
	uint64_t at_least; /* do nothing while FILE and FILE.fold together take less disk, bytes */
	/* tell times less finely rather than let FILE.fold exceed this; 0: any */
	uint64_t folded_bytes;
};

struct bp_fold_result {
	bool busy; /* somebody else reads or folds it, and was not waited for: nothing was done */
	uint64_t chunks; /* of FILE, put into FILE.fold now; 0: nothing was done */
	uint64_t bytes_before, bytes_after; /* of disk, FILE and FILE.fold together */
	uint64_t folded_bytes;		    /* of which FILE.fold */
	uint64_t resolution_ns;		    /* times before until_ns are told so late at most */
	uint64_t until_ns;		    /* CLOCK_MONOTONIC */
};

/* Disk that FILE at `path` and its FILE.fold take, bytes; 0 if FILE cannot be looked at. */
uint64_t bp_fold_disk_bytes(const char *path);

/* Folds the trace at `path`. With `wait` other readers and folders are waited for, some seconds
 * (trace/lock.h), after which they are an error; without, finding one is a result of 0 chunks,
 * `busy`. Errors name the path: not a trace, a folded part, somebody else's, a FILE.fold that is
 * damaged or another trace's, a file system that cannot give back parts of a file, the disk, no
 * memory; the files are then as they were. */
bool bp_fold(const char *path, const struct bp_fold_options *options, bool wait,
	struct bp_fold_result *ret_result, struct bp_error *error);

/* The same for a file in the folder that is open as `folder`: the last name of `path`. Everything
 * is looked up there, so that it does not matter who renames what on the way. */
bool bp_fold_in(int folder, const char *path, const struct bp_fold_options *options, bool wait,
	struct bp_fold_result *ret_result, struct bp_error *error);

#endif
