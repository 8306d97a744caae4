/* SPDX-License-Identifier: MIT */
/*
 * The rows of a live view, put together from three questions to one profile: what the metric says,
 * what was allocated lately, what changed since the view began. Private to live_view.c. Not
 * thread-safe.
 */
#ifndef BP_CLI_LIVE_LIVE_ROWS_H
#define BP_CLI_LIVE_LIVE_ROWS_H

#include "cli/live/live_view.h"

/* Makes view->rows (and count, left_out, rest, largest) of view->aggregation, and asks the rest.
 * `query` is that of the aggregation. */
bool bp_live_rows_make(struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_query *query, struct bp_error *error);
void bp_live_rows_finish(struct bp_live_view *view);

#endif
