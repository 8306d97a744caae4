/* SPDX-License-Identifier: MIT */
/*
 * What is shown where nobody said it. Most programs free nearly all they had before they exit: what
 * is left at the end then says nothing about where their memory went, and the peak does. One rule
 * for all commands (report, its summary, html, export, diff, live), so that they show the same.
 *
 * And what of an aggregation by function goes without saying: which allocation functions their
 * callers are charged for. Pure.
 */
#ifndef BP_POLICY_SHOWN_H
#define BP_POLICY_SHOWN_H

#include "aggregation/aggregate.h"
#include "diff/diff.h"

/* Of the peak, by estimate: no more than this is little. */
#define BP_LITTLE_LIVES_SHARE 0.25

/* Is little live at the end, beside what was live at the peak? Never where the peak is not known,
 * or has no sample. The aggregation may be of any metric. */
bool bp_little_lives(const struct bp_aggregation *aggregation);

/* Aggregates what is asked; where live at exit was asked for because nothing else was
 * (`by_default`), and little is, the peak: `peak_instead` is set then. A profile that does not tell
 * what was freed is shown by what was allocated. */
bool bp_aggregate_shown(const struct bp_profile *profile, const struct bp_query *query,
	bool by_default, struct bp_aggregation *ret_aggregation, struct bp_error *error);

/* The figure of a total peak as every command writes it for people: its limits alone (`unknown` is
 * set), unless it is exact. The most that was live is corrected for the choice of its moment
 * (docs/statistics.md, "Peak"), so that its estimate stands below the estimate of what was live at
 * that very moment, which is what rows add up to. Both beside each other would be two values of one
 * thing; so the estimate that is shown is that of the moment. Programs (JSON, CSV, exports, the
 * library) have both. */
struct bp_figure bp_shown_peak(const struct bp_figure *peak);

/* The metric by which runs are compared where nobody said: live at the end; where little is in all
 * of them, or too few samples are to be compared, the peak of one run with that of another, else
 * what was allocated. The runs' `shown` are of metric live. */
enum bp_metric bp_shown_metric_of_runs(const struct bp_run *runs, uint32_t count);

/* Of what a total changed at least, as a share of its larger side, to be worth a word. */
#define BP_WORTH_A_WORD_SHARE 0.05

/* Where one run compared with another has no verdict by its own metric: another one whose total has
 * changed though, by intervals that are apart, and by how many bytes. False: there is none. */
bool bp_diff_other_metric(
	const struct bp_diff *diff, enum bp_metric *ret_metric, struct bp_interval *ret_change);

/* The allocation functions below the frames that the rows of this aggregation are charged to, those
 * with most samples first: at most `capacity` of them into `ret_names`. Returns how many there are;
 * 0 for other keys, and cumulative ones. */
uint32_t bp_aggregation_charged_to_callers(
	const struct bp_aggregation *aggregation, const char **ret_names, uint32_t capacity);

#endif
