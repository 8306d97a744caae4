/* SPDX-License-Identifier: MIT */
/*
 * Which files may be replaced by what a command writes, and how a recording is replaced. The rule
 * of all commands (docs/exports.md):
 *
 * - A file that the command reads is never replaced, by no option and under no other name: neither
 *   FILE nor what belongs to it (FILE.d and all in it, FILE.fold, FILE.resident, FILE.jit), found
 *   by device and inode.
 * - A command that records (run, dotnet, control snapshot) replaces recordings of its own kind and
 *   empty files, and nothing else.
 * - A command that writes anything else replaces any regular file but a recording, which nobody can
 *   make again.
 *
 * A recording is not removed before there is another one to come: it is set aside under another
 * name, and removed when the program runs, or given its name back. One thread.
 */
#ifndef BP_CLI_FILES_REPLACING_H
#define BP_CLI_FILES_REPLACING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bp_recording_kind {
	BP_RECORDING_NONE, /* none, missing, or may not be read */
	BP_RECORDING_EMPTY,
	BP_RECORDING_TRACE, /* of `run`, and its folded part */
	BP_RECORDING_NETTRACE,
};

/* By the first bytes. A symbolic link is none. */
enum bp_recording_kind bp_recording_kind_of(const char *path);

/* Is `path`, which `option` named as an output, none of the `count` files that are read and nothing
 * that belongs to one of them? It need not exist. */
bool bp_spares_inputs(const char *path, const char *option, const char *const *files, size_t count,
	struct bp_error *error);

/* May a recording be made at `path`, that is, is everything that is there now a recording of the
 * kind? FILE.d, FILE.fold, FILE.resident and FILE.jit are looked at for a trace only. */
bool bp_spares_strangers(const char *path, enum bp_recording_kind kind, struct bp_error *error);

/* An earlier recording that may be wanted back. Zeros: there is none. */
struct bp_set_aside {
	char path[PATH_MAX];  /* its name */
	char aside[PATH_MAX]; /* PATH.PID.old, its name so far */
	enum bp_recording_kind kind;
	uint32_t moved; /* private: a bit for each part that was renamed */
};

/* Renames the recording at `path`, of a trace with all that belongs to it; where there is none,
 * nothing is done. On failure all is as it was. */
bool bp_set_aside(const char *path, enum bp_recording_kind kind, struct bp_set_aside *ret_recording,
	struct bp_error *error);
/* Gives it its name back, unless another file has taken it. Harmless on zeros. */
void bp_set_aside_restore(struct bp_set_aside *recording);
/* Removes it. Harmless on zeros. */
bool bp_set_aside_remove(struct bp_set_aside *recording, struct bp_error *error);

#endif
