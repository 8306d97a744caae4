/* SPDX-License-Identifier: MIT */
/*
 * What the system lets one do to another process, judged from what it says: which restriction made
 * the kernel refuse, and whether a thread can be made to call anything. Pure.
 */
#ifndef BP_CLI_ATTACH_RIGHTS_H
#define BP_CLI_ATTACH_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

#define BP_YAMA_FILE "/proc/sys/kernel/yama/ptrace_scope"

/* The number in the text of that file; 0 (no restriction) where there is none. */
long bp_yama_scope(const char *text);

/* The kernel has refused (EPERM) to let `pid` be traced: why, as far as that is known, and what to
 * do. `scope`: Yama's, `root`: whether the refused one was root. Returns false. */
bool bp_trace_refused(pid_t pid, long scope, bool root, struct bp_error *error);

/* Does the text of /proc/PID/status tell of shadow stacks (Intel's CET)? */
bool bp_has_shadow_stacks(const char *status);

#endif
