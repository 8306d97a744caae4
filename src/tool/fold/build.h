/* SPDX-License-Identifier: MIT */
/*
 * From what was gathered and a clock to the bytes of FILE.fold; private to fold/.
 */
#ifndef BP_FOLD_BUILD_H
#define BP_FOLD_BUILD_H

#include "fold/gather.h"
#include "fold/output.h"

/* Once, before building: puts the readings in the order of threads and times. */
void bp_fold_sort_readings(struct bp_gathered *gathered);

/* Fills `output`, which must be initialised: header, and sealed chunks. `held`: all chunks that it
 * will stand for. Marks what is paired; may be called again with another clock and output. */
bool bp_fold_build(struct bp_gathered *gathered, const struct bp_trace_clock *clock,
	const struct bp_trace_held *held, struct bp_fold_output *output, struct bp_error *error);

#endif
