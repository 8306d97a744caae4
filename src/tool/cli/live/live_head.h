/* SPDX-License-Identifier: MIT */
/*
 * The lines above and below the rows of a live frame: what runs, the totals, what was live over
 * time; what is typed, said, or can be pressed. Private to live_draw.c.
 */
#ifndef BP_CLI_LIVE_LIVE_HEAD_H
#define BP_CLI_LIVE_LIVE_HEAD_H

#include <stdio.h>

#include "cli/live/live_draw.h"

/* Each writes one line with its newline. */
void bp_live_write_process(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out);
void bp_live_write_totals(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out);
void bp_live_write_timeline(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out);
/* What the rows are: metric, key, order, filter. */
void bp_live_write_subject(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out);
/* The last line. */
void bp_live_write_foot(const struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame, FILE *out);

#endif
