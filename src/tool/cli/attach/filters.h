/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filters of a process's threads: would they let the recorder be loaded, and let it
 * record? Each is read from the kernel and run for every call that the recorder makes. Not
 * thread-safe.
 */
#ifndef BP_CLI_ATTACH_FILTERS_H
#define BP_CLI_ATTACH_FILTERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* True where no thread has a filter: then nothing is stopped. Otherwise each thread that has one is
 * stopped for a moment. False: a filter forbids a call (the error names it), or cannot be read, or
 * a thread is in the strict mode. */
bool bp_filters_permit(pid_t pid, struct bp_error *error);

#endif
