/* SPDX-License-Identifier: MIT */
/*
 * Processes of a run that the run's files do not tell of: a child that has only just been forked
 * begins its trace a moment later, and its parent may be gone by then (daemon does just that).
 * They are found by what they carry: the run's output in their environment, and the recorder in
 * their memory. Linux's /proc; what another user's processes carry cannot be read, and they are
 * not found.
 */
#ifndef BP_CLI_RUN_RUNNING_H
#define BP_CLI_RUN_RUNNING_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/files/tree.h"

/* Counts the processes that run with `recorder` loaded and write beside `tree->file`, but have no
 * file in `tree`. `*ret_example`: one of them. (With --no-follow-fork only the first process
 * writes: none is found.) */
size_t bp_running_unrecorded(const struct bp_tree *tree, const char *recorder, pid_t *ret_example);

/* A process that was started to write to FILE at `path`, or by one that was: it carries that
 * output, and preloads a recorder. 0: none. */
pid_t bp_running_carrier(const char *path);

/* Has the process mapped a file whose path has `path` in it? */
bool bp_running_maps(pid_t pid, const char *path);

#endif
