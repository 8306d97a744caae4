/* SPDX-License-Identifier: MIT */
/*
 * Program images that a profile knows of and has nothing from: those whose exec was noted as one
 * that cannot be profiled, and those that a process became without another word. Called by
 * warnings, by check's judgement and by cli. Pure.
 */
#ifndef BP_PROFILE_UNSEEN_H
#define BP_PROFILE_UNSEEN_H

#include "profile/profile.h"

/* Did the process end in an exec after which no trace was begun under its number? */
bool bp_process_went_on_elsewhere(
	const struct bp_profile *profile, const struct bp_process *process);

/* The same, and nothing says why: the exec was not noted as one of a program that cannot be profiled. */
bool bp_process_went_on_unexplained(
	const struct bp_profile *profile, const struct bp_process *process);

/* Is this path valgrind's own: its starter, or the tool that it runs programs in? */
bool bp_is_valgrind(const char *path);

/* Why the program at `path` could not be profiled, as a clause; `reason` is that of the exec's record. */
const char *bp_unseen_text(uint32_t reason, const char *path);

#endif
