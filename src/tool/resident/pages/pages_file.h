/* SPDX-License-Identifier: MIT */
/*
 * FILE.pages: which pages of anonymous memory the first process of a run had at the last look
 * (docs/trace-format.md, section 6.2). `run` writes it, `report --resident` reads it. Not
 * thread-safe.
 */
#ifndef BP_RESIDENT_PAGES_PAGES_FILE_H
#define BP_RESIDENT_PAGES_PAGES_FILE_H

#include "base/error.h"
#include "model/profile.h"
#include "resident/pages/pages.h"

#define BP_PAGES_SUFFIX ".pages"

/* Replaces the file at `path` as a whole, but never one of something else. */
bool bp_pages_write(const char *path, const struct bp_pages *pages, const uint8_t trace_id[16],
	struct bp_error *error);
bool bp_pages_is_ours(const char *path);
/* Removes it, if it is one of ours. */
void bp_pages_remove(const char *path);

/* Reads what belongs to the trace at `file`, which `profile` was read from. True, with an empty
 * table, where there is none; false: it is torn, damaged, or of another run. */
bool bp_pages_read(const char *file, const struct bp_profile *profile, struct bp_pages *ret_pages,
	struct bp_error *error);

#endif
