/* SPDX-License-Identifier: MIT */
/*
 * The values of a profile as every JSON report writes them: figures with their intervals, totals
 * that are counted, the frames of a stack.
 */
#ifndef BP_TEXT_JSON_VALUES_H
#define BP_TEXT_JSON_VALUES_H

#include "aggregation/aggregate.h"
#include "text/json_writer.h"

/* A text of the profile. */
void bp_json_name(struct bp_json *json, const char *key, const struct bp_profile *profile,
	struct bp_string_id id);

/* {"estimate", "low", "high"}, each divided by `divisor` (1; seconds, for rates). */
void bp_json_interval(
	struct bp_json *json, const char *key, const struct bp_interval *interval, double divisor);

/* These three as members of an object that is open, for those that add to them. */
void bp_json_interval_members(
	struct bp_json *json, const struct bp_interval *interval, double divisor);

/* An interval with "exact" where it is known and what losses make of it. */
void bp_json_figure(
	struct bp_json *json, const char *key, const struct bp_figure *figure, double divisor);

/* "bytes" and "objects" as members. */
void bp_json_figures(
	struct bp_json *json, const struct bp_figure *bytes, const struct bp_figure *objects);

/* {"low", "high"} */
void bp_json_limits(struct bp_json *json, const char *key, uint64_t low, uint64_t high);

/* The frames of a stack as an array, innermost first. */
void bp_json_frames(struct bp_json *json, const char *key, const struct bp_profile *profile,
	const struct bp_frame_id *frames, uint32_t count);

/* Texts as an array on one line; the last one is followed by NULL. */
void bp_json_texts(struct bp_json *json, const char *key, char *const *texts);

/* The filters of a query, as they were given. */
void bp_json_filters(struct bp_json *json, const struct bp_query *query);

#endif
