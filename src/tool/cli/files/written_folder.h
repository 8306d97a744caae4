/* SPDX-License-Identifier: MIT */
/*
 * A folder that a command writes because it was asked to (-o of `export --to parquet`): it appears
 * under its name when all files in it are whole, by one rename, and replaces nothing without
 * --force. With it a folder is replaced that holds nothing but files of the same kind. Until then
 * it is .NAME.XXXXXX beside PATH, locked; whatever kills us may leave that behind, and never a part
 * under PATH.
 *
 * One at a time; not thread-safe.
 */
#ifndef BP_CLI_FILES_WRITTEN_FOLDER_H
#define BP_CLI_FILES_WRITTEN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

struct bp_written_folder {
	/* Given: */
	const char *path;
	const char *option; /* by which it was named, for messages: "-o" */
	const char *suffix; /* of the files in it: ".parquet" */
	bool force;
	/* Between begin and end: */
	int descriptor;
	char temporary[PATH_MAX];
};

/* May it be written there? For saying so before the work: nothing is left behind. */
bool bp_written_folder_check(const struct bp_written_folder *folder, struct bp_error *error);
/* Opens `descriptor`, an empty folder. */
bool bp_written_folder_begin(struct bp_written_folder *folder, struct bp_error *error);
/* Gives it its name; with `good` false, or if that fails, nothing is left of it, and with `good`
 * false `error` is left alone. Returns whether all is well. */
bool bp_written_folder_end(struct bp_written_folder *folder, bool good, struct bp_error *error);

/* Is it a folder, no link, that holds nothing but files of that suffix and the lists of a sum? */
bool bp_written_folder_is_plain(const char *path, const char *suffix);

/* Removes a folder that holds nothing but files of that suffix and the lists of a sum
 * (fleet/store.h): by one rename to a name as that of a folder that is written, and then file by
 * file, so that no part of it is ever seen. Errors: it holds anything else. What is not there is
 * removed already. */
bool bp_written_folder_remove(const char *path, const char *suffix, struct bp_error *error);

/* Removes what was left behind in the folder `path` by those who were killed: folders of such names
 * with files of that suffix, that nobody has locked and that have not changed for a minute. */
void bp_written_folder_sweep(const char *path, const char *suffix);

#endif
