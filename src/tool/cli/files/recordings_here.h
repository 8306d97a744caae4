/* SPDX-License-Identifier: MIT */
/*
 * The recordings in a folder, for the words about a file that is not there: what was meant may lie
 * beside it. Called by commands that read recordings, before they read. Nothing but names and the
 * first bytes of files is read. One thread.
 */
#ifndef BP_CLI_FILES_RECORDINGS_HERE_H
#define BP_CLI_FILES_RECORDINGS_HERE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* Is there a file at `path`? Else an error, which names a recording in its folder with a similar
 * name, or the newest recordings there, or, where there is none, how to make one. Names stand in it
 * as they are, without their control characters: whoever prints it makes them harmless (say.h).
 * True, too, where it cannot be told: reading says then what is wrong. */
bool bp_recording_is_there(const char *path, struct bp_error *error);

/* The name of the recording in `folder` that was written last. False: there is none. */
bool bp_recording_newest(const char *folder, char ret_name[NAME_MAX + 1]);

#endif
