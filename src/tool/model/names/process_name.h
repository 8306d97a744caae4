/* SPDX-License-Identifier: MIT */
/*
 * What a process is called. The path of the executable is not always what somebody started:
 * redis-server is a link to redis-check-rdb, and a busybox is any of three hundred commands. What
 * was typed is the first word of the command line, and its last part is the name. Called by
 * bp_profile_finish_import, and by cli for processes that no profile is read of.
 */
#ifndef BP_MODEL_NAMES_PROCESS_NAME_H
#define BP_MODEL_NAMES_PROCESS_NAME_H

#include "model/profile.h"

/* Sets `name` of every process: the last part of the first word of its command line, or that of its
 * executable where there is no such word. Bytes of any kind, as all names. */
bool bp_profile_name_processes(struct bp_profile *profile, struct bp_error *error);

/* The name of one process: the words of its command line with spaces between them, and the path of
 * its executable ("" for either: not known). Points into one of the two; *ret_bytes is its length.
 * Pure. */
const char *bp_process_name_from(const char *command_line, const char *program, size_t *ret_bytes);

/* The signal that ended it, "SIGTERM", "signal 40"; end_signal must not be 0. Pure. */
#define BP_SIGNAL_BYTES 24
void bp_process_signal_text(const struct bp_process *process, char buffer[BP_SIGNAL_BYTES]);

#endif
