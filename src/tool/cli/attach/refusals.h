/* SPDX-License-Identifier: MIT */
/*
 * What stands between a running process and `bytepoll attach`, found out from files, before
 * anything of the process is touched; only the seccomp filters of a thread that has some are read
 * while it stands still. `doctor` says the same. Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_REFUSALS_H
#define BP_CLI_ATTACH_REFUSALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* May the process be attached to, as far as can be seen? The error says what is in the way, and
 * what to do. `inside`: file systems of the process's own are no obstacle, since nothing of ours
 * has to be seen there, or is put there (inside.h). */
bool bp_may_attach(pid_t pid, bool inside, struct bp_error *error);

/* The kernel has refused to let it be traced: says why. Returns false. */
bool bp_say_trace_refused(pid_t pid, struct bp_error *error);

#endif
