/* SPDX-License-Identifier: MIT */
/*
 * The values that every JSON report writes the same way: numbers, figures and the frames of a stack.
 * (Strings: escape.h.) Called by the files *_json.c, json.c and plan_write.c.
 */
#ifndef BP_REPORT_JSON_VALUES_H
#define BP_REPORT_JSON_VALUES_H

#include <stdio.h>

#include "profile/aggregate.h"

/* A number: whole ones without a point, others with twelve digits, null where it is not finite. */
void bp_write_json_number(FILE *out, double value);

/* {"estimate", "low", "high"}, each divided by `divisor` (1; seconds, for rates). Left open: further
 * fields may follow, and then the brace. */
void bp_write_json_interval(FILE *out, const struct bp_interval *interval, double divisor);

/* The same whole, with "exact" where it is known and what losses make of it. */
void bp_write_json_figure(FILE *out, const struct bp_figure *figure, double divisor);

/* The frames of a stack as an array, innermost first. */
void bp_write_json_frames(FILE *out, const struct bp_profile *profile,
	const struct bp_frame_id *frames, uint32_t count);

#endif
