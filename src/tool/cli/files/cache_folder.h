/* SPDX-License-Identifier: MIT */
/*
 * The user's folder for what can be made again: the first that is set of $CACHE_DIRECTORY (which
 * systemd sets), $XDG_CACHE_HOME/bytepoll and ~/.cache/bytepoll, and /var/tmp/bytepoll-UID without
 * any of them, or where the home is another user's. Thread-safe.
 */
#ifndef BP_CLI_FILES_CACHE_FOLDER_H
#define BP_CLI_FILES_CACHE_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/* The folder `name` in it (names between slashes), which is made, with mode 0700, where it is not
 * there. Errors: it cannot be made, or another user could change what is in it. */
bool bp_cache_folder(const char *name, char ret_path[PATH_MAX], struct bp_error *error);

#endif
