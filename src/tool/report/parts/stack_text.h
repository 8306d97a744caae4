/* SPDX-License-Identifier: MIT */
/* The frames of a stack for people, one per line. */
#ifndef BP_REPORT_PARTS_STACK_TEXT_H
#define BP_REPORT_PARTS_STACK_TEXT_H

#include "report/report.h"

/* Writes `count` frames, the innermost first: "function  file.c:12", with what a function was
 * inlined into on the next line. Nothing where there is none. */
void bp_write_frames(const struct bp_profile *profile, const struct bp_frame_id *frames,
	uint32_t count, const struct bp_report_options *options, FILE *out);
/* The line behind them where the stack goes on: `flags` are those of struct bp_row. */
void bp_write_stack_end(unsigned flags, FILE *out);

#endif
