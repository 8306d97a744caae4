/* SPDX-License-Identifier: MIT */
/*
 * FILE.mappings: what the mappings of the first process of a run held at its highest and its last
 * look (docs/trace-format.md, section 6.1). `run` writes it, and `report --resident` reads it. Not
 * thread-safe.
 */
#ifndef BP_RESIDENT_MAPPINGS_FILE_H
#define BP_RESIDENT_MAPPINGS_FILE_H

#include "base/error.h"
#include "model/profile.h"
#include "resident/mappings.h"

#define BP_MAPPINGS_SUFFIX ".mappings"

/* Replaces the file at `path` as a whole, but never one of something else. */
bool bp_mappings_write(const char *path, const struct bp_mappings *mappings,
	const uint8_t trace_id[16], struct bp_error *error);
/* Is the file at `path` one of ours? */
bool bp_mappings_is_ours(const char *path);
/* Removes it, if it is one of ours. */
void bp_mappings_remove(const char *path);

/* Reads what belongs to the trace at `file`, which `profile` was read from. False, with an empty
 * table: there is no such file, or it is torn, damaged, or of another run. */
bool bp_mappings_read(const char *file, const struct bp_profile *profile,
	struct bp_mappings *ret_mappings, struct bp_error *error);

#endif
