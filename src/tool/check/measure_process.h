/* SPDX-License-Identifier: MIT */
/*
 * What a run says of limits on the process, and not on what malloc gave it: what the kernel counts,
 * live objects that are not resident, and what the program mapped itself. Called by check.c. Pure;
 * thread-safe.
 */
#ifndef BP_CHECK_MEASURE_PROCESS_H
#define BP_CHECK_MEASURE_PROCESS_H

#include "check/check.h"

/* Measures one limit, whose `resident` is not NONE. */
void bp_measure_process(const struct bp_profile *profile, const struct bp_measuring *measuring,
	const struct bp_limit *limit, struct bp_measure *ret_measure);

#endif
