/* SPDX-License-Identifier: MIT */
/*
 * What `run` says of the program images that it recorded nothing of, or not all: those that kept
 * the recorder off, that no loader preloads into, and that ran without it for a reason that only
 * shows from outside.
 */
#ifndef BP_CLI_RUN_RECORDED_IMAGES_H
#define BP_CLI_RUN_RECORDED_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

/* Why a program stayed unprofiled, and what can be done; `reason`: enum bp_unprofiled. */
const char *bp_unprofiled_text(uint32_t reason);

/* A line on standard error for each kind that there is. `recorder`: path of its library. `alone`:
 * what the program started was not to be recorded, so that nothing of it is missing. */
void bp_recorded_images_print(const struct bp_profile *profile, const char *recorder, bool alone);

/* Is it the program of the run itself, in the end, that nothing was recorded of: the image that
 * the first process became last ran without the recorder, or all of it ran in valgrind? Then it is
 * named on standard error, behind `before`. */
bool bp_recorded_images_explain(
	const struct bp_profile *profile, const char *recorder, const char *before);

#endif
