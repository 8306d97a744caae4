/* SPDX-License-Identifier: MIT */
/*
 * Where `run` lets the trace be written: the name, and whether it can be written at all. Asked
 * before the program starts, because afterwards nobody can tell the user; `doctor` asks the same.
 */
#ifndef BP_CLI_FILES_OUTPUT_FILE_H
#define BP_CLI_FILES_OUTPUT_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/files/replacing.h"

/* Is the argument of -o the name of a file? `-`, which stands for standard output in other
 * commands, is an error. */
bool bp_output_may_be_named(const char *given, struct bp_error *error);
/* The absolute path of the trace: of `given` (-o; `%p` in it is the pid, `%%` a
 * percent sign), or with NULL of the default
 * `bytepoll.PROGRAM.PID.EXTENSION` in the current directory. */
bool bp_output_path(const char *given, const char *program, pid_t pid, const char *extension,
	char *ret_path, size_t capacity, struct bp_error *error);
/* The variable that tells a recorder to write to that path, `NAME=` included: percent signs are to
 * be read as such. To be freed; NULL: no memory. */
char *bp_output_variable(const char *path);
/* May `path` be written to? Neither it nor PATH.d may exist, or with `force` nothing but an earlier
 * trace. */
bool bp_output_is_free(const char *path, bool force, struct bp_error *error);
/* Can a trace be made at `path`? With `force` what an earlier run left there is set aside, to be
 * removed or restored by the caller; otherwise, and on failure, everything stays as it is. */
bool bp_output_prepare(
	const char *path, bool force, struct bp_set_aside *ret_earlier, struct bp_error *error);

#endif
