/* SPDX-License-Identifier: MIT */
/*
 * The limit on open files (ulimit -n) while `run` starts a program. A program may need fewer
 * descriptors than `run` does, so that the soft limit is raised for `run` alone, and the program
 * gets the one that was found. Not thread-safe.
 */
#ifndef BP_CLI_RUN_OPEN_FILES_H
#define BP_CLI_RUN_OPEN_FILES_H

#include <stdbool.h>
#include <sys/resource.h>

struct bp_open_files {
	struct rlimit found;
	bool raised;
};

/* Raises the soft limit to the hard one. False: not even then can as many files be opened as `run`
 * has to. */
bool bp_open_files_make_room(struct bp_open_files *ret_files);
/* Sets the limit that was found: before an exec of the program. Keeps errno. */
void bp_open_files_restore(const struct bp_open_files *files);

#endif
