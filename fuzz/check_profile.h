/* SPDX-License-Identifier: MIT */
/* What every profile must be, however hostile the file it came from. For the harnesses of this
 * folder. */
#ifndef BP_FUZZ_CHECK_PROFILE_H
#define BP_FUZZ_CHECK_PROFILE_H

#include <stdbool.h>

#include "model/profile.h"

/* Ends the program where it does not hold. */
void bp_fuzz_require(bool condition);

/* Every index of the profile points into its table, every sample is in range. */
void bp_fuzz_check_profile(const struct bp_profile *profile);

/* Imports the file open as `fd`, with these frames of Python's stacks, and checks what comes of it:
 * a profile, or an error with a text. `mapped`: of what the program mapped itself. */
void bp_fuzz_import(int fd, struct bp_frame_choice frames, bool mapped);

#endif
