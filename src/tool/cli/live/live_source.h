/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll live` follows: a process, a trace with the tree that belongs to it, or any file
 * that an importer knows. Each reading is a whole new profile, made of a consistent copy of every
 * running trace (as `control snapshot` makes it) and of the files of the processes that have ended.
 * Nothing is sent to a process and nothing of it stops. Files are read, never mapped, so that one
 * that is cut off is an error of one reading. Not thread-safe.
 */
#ifndef BP_CLI_LIVE_LIVE_SOURCE_H
#define BP_CLI_LIVE_LIVE_SOURCE_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"
#include "jit/jit_file.h"
#include "model/profile.h"
#include "symbols/symbols.h"

enum bp_live_state {
	BP_LIVE_RUNS,
	BP_LIVE_ENDED,	 /* in order, by exec, or killed: nothing more comes */
	BP_LIVE_UNKNOWN, /* nobody is seen to write: another user's, a copy, no trace of ours */
	BP_LIVE_CUT /* the last reading failed: `failure` says why, the profile is an older one */
};

struct bp_live_source {
	/* For the caller to read, after a reading. */
	enum bp_live_state state;
	struct bp_error failure;
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	bool has_profile;
	uint32_t running;	 /* processes that were copied while they ran */
	uint64_t resident_bytes; /* of these together; 0: not known */
	uint64_t read_at_ns;	 /* CLOCK_MONOTONIC */

	/* Private. */
	const char *operand, *debug_directory;
	bool tree, mapped;
	pid_t pid;			     /* 0: a file */
	unsigned long long start_ticks;	     /* of that process */
	char path[PATH_MAX];		     /* of the trace read last; empty: none yet */
	int64_t size, changed_s, changed_ns; /* of the file, when nobody ran */
	struct bp_jit_file jit; /* names of code made at run time, as of the last look */
};

/* `operand`: a process id, or the path of a file; both must outlive the source. `tree`: the running
 * descendants of a process too; a file brings its tree along in any case. Reads once; errors say
 * why that cannot be. `mapped`: profiles hold what the process mapped itself (profile->mapped), and
 * whether that was recorded is the caller's to ask. On failure there is nothing to finish. */
bool bp_live_source_open(struct bp_live_source *source, const char *operand, bool tree, bool mapped,
	const char *debug_directory, struct bp_error *error);

/* Reads again. False: there is nothing new, or it cannot be read (`state` is BP_LIVE_CUT then);
 * the profile is as it was. True: `profile` is another one, and what pointed into the old one is
 * void. */
bool bp_live_source_read(struct bp_live_source *source);

void bp_live_source_finish(struct bp_live_source *source);

#endif
