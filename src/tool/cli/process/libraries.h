/* SPDX-License-Identifier: MIT */
/*
 * The shared objects of a program or of a running process, for `doctor`.
 */
#ifndef BP_CLI_PROCESS_LIBRARIES_H
#define BP_CLI_PROCESS_LIBRARIES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct bp_libraries {
	char **paths; /* in the order in which the loader searches them, as far as known */
	size_t count;
	char **missing; /* names the loader does not find */
	size_t missing_count;
};

/* Asks the loader (`loader --list image`), which maps the libraries and runs none of the program.
 * Only glibc's loaders in their usual places are started, because PT_INTERP of a foreign file can
 * name anything; for another one the result is empty and *ret_asked is false. */
bool bp_libraries_of_program(const char *image, const char *loader, struct bp_libraries *ret_list,
	bool *ret_asked, struct bp_error *error);
/* What a process has mapped to execute, from its maps. */
bool bp_libraries_of_process(pid_t pid, struct bp_libraries *ret_list, struct bp_error *error);
void bp_libraries_finish(struct bp_libraries *list);

#endif
