/* SPDX-License-Identifier: MIT */
/*
 * Program images that a profile knows of and has nothing from: those whose exec was noted as one
 * that cannot be profiled, and those that a process became without another word. Called by
 * warnings, by check's result and by cli. Pure.
 */
#ifndef BP_MODEL_GAPS_UNSEEN_H
#define BP_MODEL_GAPS_UNSEEN_H

#include "model/profile.h"

/* An image that has a trace: the number of its process, and when it began (CLOCK_MONOTONIC). */
struct bp_birth {
	uint64_t pid, time_ns;
};

/* Sorts them for bp_births_have: has the process an image that began at that time or later? */
void bp_births_sort(struct bp_birth *births, uint32_t count);
bool bp_births_have(const struct bp_birth *births, uint32_t count, uint32_t pid, uint64_t since_ns);

/* Did the process end in an exec after which no trace was begun under its number? */
bool bp_process_went_on_elsewhere(
	const struct bp_profile *profile, const struct bp_process *process);

/* The same, and nothing says why: the exec was not noted as one of a program that cannot be
 * profiled. */
bool bp_process_went_on_unexplained(
	const struct bp_profile *profile, const struct bp_process *process);

/* The entries of profile->started, a profile of one tree, of which no trace was begun: their
 * numbers, in their order, for the caller to free. Some of them may never have run: an exec that
 * failed looks the same. false: no memory. */
bool bp_started_without_trace(
	const struct bp_profile *profile, uint32_t **ret_numbers, uint32_t *ret_count);

/* Is this path valgrind's own: its starter, or the tool that it runs programs in? */
bool bp_is_valgrind(const char *path);

/* Why the program at `path` could not be profiled, as a clause; `reason` is that of the exec's
 * record. */
const char *bp_unseen_text(uint32_t reason, const char *path);

#endif
