/* SPDX-License-Identifier: MIT */
/*
 * Bytes to profile: the importer of a file is found by the file's first bytes. A new format is one
 * file with a `struct bp_importer` and one line in importers.h.
 */
#ifndef BP_IMPORT_IMPORT_H
#define BP_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "import/importers.h"
#include "model/profile.h"

struct bp_importer {
	const char *name; /* "bytepoll trace" */
	/* Does a file that begins with these bytes look like one of this format? */
	bool (*sniff)(const uint8_t *head, size_t bytes);
	/* Adds the file at `path` (and the files that belong to it) to the profile. */
	bool (*import)(const char *path, struct bp_profile *profile, struct bp_error *error);
};

#define BP_IMPORTER_DECLARED(name) extern const struct bp_importer bp_import_##name;
BP_IMPORTERS(BP_IMPORTER_DECLARED)
#undef BP_IMPORTER_DECLARED

/* Opens, sniffs and imports one file into an initialised profile. Errors name the path and say what
 * to do (missing, unreadable, empty, a directory, of no known format, torn before its header). */
bool bp_import_file(const char *path, struct bp_profile *profile, struct bp_error *error);

/* Adds one trace of ours alone, without the files of the processes it started. */
bool bp_import_one_process(const char *path, struct bp_profile *profile, struct bp_error *error);

/* Adds what was packed into FILE.d/packed of the trace FILE at `path`, but for traces that are in
 * the profile already: so the files of FILE.d are added first, and none is missed that is packed
 * meanwhile. What cannot be read is counted in the profile. False: no memory. */
bool bp_import_packed(const char *path, struct bp_profile *profile, struct bp_error *error);

#endif
