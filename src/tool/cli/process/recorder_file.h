/* SPDX-License-Identifier: MIT */
/* Where the recorder lies: beside the executable (build tree), or in ../lib/bytepoll (installed).
 * Not thread-safe. */
#ifndef BP_CLI_PROCESS_RECORDER_FILE_H
#define BP_CLI_PROCESS_RECORDER_FILE_H

#include <stddef.h>

#include "base/error.h"

/* Finds the recorder's file of that name (trace/format.h); its path has neither a space nor a
 * colon, so that LD_PRELOAD can carry it. */
bool bp_recorder_file_find(
	const char *file, char *ret_path, size_t capacity, struct bp_error *error);

#endif
