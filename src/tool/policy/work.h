/* SPDX-License-Identifier: MIT */
/*
 * What figures of several runs are scaled by, so that a run which did more is compared with one
 * that did less. Every run is scaled to the mean work of the new side. Pure functions, safe from
 * any thread.
 */
#ifndef BP_POLICY_WORK_H
#define BP_POLICY_WORK_H

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "diff/diff.h"

/* How the work of a run is measured. */
enum bp_work_unit {
	BP_WORK_NONE,	  /* it is not: nothing is scaled */
	BP_WORK_TOTAL,	  /* bytes allocated, where their number is known exactly */
	BP_WORK_DURATION, /* seconds */
	BP_WORK_COUNT,	  /* what the user counted */
	BP_WORK_UNITS
};

/* "none", "total", "duration", "count". */
extern const char *const bp_work_names[BP_WORK_UNITS];

/* Measures a run: in bytes (TOTAL) or seconds (DURATION), above 0. Errors name `file`: the run has
 * no work, or its total is not known exactly. */
bool bp_work_of_run(const struct bp_aggregation *aggregation, enum bp_work_unit unit,
	const char *file, double *ret_work, struct bp_error *error);

/* Sets the scale of every run, base first, and returns what they are scaled to. `work`: of each
 * run, > 0. */
double bp_work_scale(
	const double *work, uint32_t base_count, uint32_t new_count, struct bp_run *runs);

#endif
