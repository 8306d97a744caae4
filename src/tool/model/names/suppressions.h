/* SPDX-License-Identifier: MIT */
/*
 * Files of suppressions in the syntax of LeakSanitizer: lines `leak:PATTERN`, empty lines, and
 * comments that begin with #. A pattern matches anywhere in the name of a function, a source file
 * or a module; `*` is anything, `^` at its start and `$` at its end hold it to the ends. What
 * stands between is looked for where it comes first and nowhere else, as LeakSanitizer does it: `$`
 * wants the end right behind that place, so that `f$` does not match f_of_f, and `$` alone matches
 * nothing. What follows a `$` is ignored. A stack is suppressed if a pattern matches one of its
 * frames. `leak:` without a pattern, which there hides everything, is an error here: `leak:*` says
 * so. Called by cli/; used through a filter (filter.h).
 */
#ifndef BP_MODEL_NAMES_SUPPRESSIONS_H
#define BP_MODEL_NAMES_SUPPRESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

/* Zeroed is empty. */
struct bp_suppressions {
	char *text;	 /* the file, its lines terminated */
	char **patterns; /* into text */
	uint32_t count, capacity;
};

/* Errors: the file cannot be read, or a line is nothing of the above. */
bool bp_suppressions_read(
	const char *path, struct bp_suppressions *ret_suppressions, struct bp_error *error);
void bp_suppressions_finish(struct bp_suppressions *suppressions);

/* Does this pattern match the text? Pure. */
bool bp_suppression_matches(const char *pattern, const char *text);

/* Does some pattern match the frame? */
bool bp_suppressions_match(const struct bp_suppressions *suppressions,
	const struct bp_profile *profile, struct bp_frame_id frame);

#endif
