/* SPDX-License-Identifier: MIT */
/*
 * Which recordings count as separate runs. Several runs of one side of a comparison show how much
 * the program itself varies. The same run given twice would count as two runs that agree, and hide
 * that. Pure functions, safe from any thread.
 */
#ifndef BP_POLICY_DISTINCT_H
#define BP_POLICY_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

/* Which run a profile is of: the trace id of its first process. All bytes are 0 where it is not
 * known, as of files that are no traces; such runs are distinct from all others. */
struct bp_run_id {
	uint8_t bytes[16];
};

struct bp_run_id bp_run_id_of(const struct bp_profile *profile);

/* Returns false, with an error that names both files, if the last of the `count` runs of one side
 * is the same as one before it. `files` has the name of each. */
bool bp_last_run_is_distinct(const struct bp_run_id *runs, const char *const *files, uint32_t count,
	struct bp_error *error);

#endif
