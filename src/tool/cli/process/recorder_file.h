/* SPDX-License-Identifier: MIT */
/* Where the recorder lies: beside the executable (build tree), or in ../lib/bytepoll (installed).
 * Not thread-safe. */
#ifndef BP_CLI_PROCESS_RECORDER_FILE_H
#define BP_CLI_PROCESS_RECORDER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Finds the recorder's file of that name (trace/format.h); its path has neither a space nor a
 * colon, so that LD_PRELOAD can carry it. */
bool bp_recorder_file_find(
	const char *file, char *ret_path, size_t capacity, struct bp_error *error);

/* What the name of a copy by `attach --copy-recorder` begins with, before its build-id. */
#define BP_RECORDER_COPY "libbytepoll-recorder-"

/* Is this the name, without folders, of the recorder's file, or of a copy that attach made? */
bool bp_recorder_file_is(const char *name);

#endif
