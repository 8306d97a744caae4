/* SPDX-License-Identifier: MIT */
/*
 * What was recorded of the CPython in a process, in words: whether its small objects are in the
 * figures, and why its functions are not in stacks where they are not.
 */
#ifndef BP_MODEL_PYTHON_STATE_H
#define BP_MODEL_PYTHON_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/profile.h"

/* Are the small objects of this process's Python in the figures, as samples of their own or as
 * malloc's? False, too, where it has no Python. */
bool bp_python_objects_counted(const struct bp_process *process);

/* Writes one sentence on what of Python was asked for and could not be recorded. False: nothing
 * is to be said, and `to` is unchanged. */
bool bp_python_words(
	const struct bp_profile *profile, const struct bp_process *process, char *to, size_t bytes);

#endif
