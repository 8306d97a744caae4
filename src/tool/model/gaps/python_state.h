/* SPDX-License-Identifier: MIT */
/*
 * What a recorder could not record of the CPython in a process (docs/trace-format.md 3.10), in
 * words, and whether anything of Python's memory stays unseen. Pure functions.
 */
#ifndef BP_MODEL_GAPS_PYTHON_STATE_H
#define BP_MODEL_GAPS_PYTHON_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

/* Why functions of Python are in stacks or not, or its small objects are samples or not: the
 * numbers of enum bp_python_state of the trace. */
enum bp_profile_python_state {
	BP_PROFILE_PYTHON_RECORDED,
	BP_PROFILE_PYTHON_NOT_ASKED,
	BP_PROFILE_PYTHON_UNKNOWN_VERSION,
	BP_PROFILE_PYTHON_FREE_THREADED,
	BP_PROFILE_PYTHON_TEST_FAILED,
	BP_PROFILE_PYTHON_ALL_IN_MALLOC,
	BP_PROFILE_PYTHON_WAITING,
	BP_PROFILE_PYTHON_INTERPRETERS,
	BP_PROFILE_PYTHON_OTHER_ALLOCATORS
};

/* Is every small object of Python counted, from the moment on that is known, as an object of its
 * own kind or as one of malloc? False where no interpreter was described. */
bool bp_python_objects_are_seen(const struct bp_process_python *python);

/* The word for a state in JSON, "recorded"; "other" for a number that is not known here. */
const char *bp_python_state_name(uint32_t state);

#define BP_PYTHON_LINES 2u
#define BP_PYTHON_LINE_BYTES 320u

/* Writes what is missing, why, and what to do, a line for functions and one for objects, or one for
 * both where the reason is one; and since when objects are recorded, where that is noticeably later
 * than the process was attached to. Returns the number of lines, 0 where all is recorded. */
uint32_t bp_python_missing_lines(const struct bp_profile *profile,
	const struct bp_process_python *python,
	char ret_lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES]);

#endif
