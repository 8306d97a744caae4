/* SPDX-License-Identifier: MIT */
/*
 * What was allocated in a window of time, from the counters of threads that records carry: certain
 * limits, no estimate (docs/statistics.md, "Windows"). Called by figures.c.
 */
#ifndef BP_TIME_WINDOW_H
#define BP_TIME_WINDOW_H

#include <stdbool.h>

#include "base/error.h"
#include "query/view.h"

struct bp_window_totals {
	struct bp_known_total bytes, objects;
};

/* Of the processes and the window of the view. The profile must have kept its readings. */
void bp_window_totals(const struct bp_view *view, struct bp_window_totals *ret_totals);

#endif
