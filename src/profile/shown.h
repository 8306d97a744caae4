/* SPDX-License-Identifier: MIT */
/*
 * What is shown where nobody said it. Most programs free nearly all they had before they exit: what is left
 * at the end then says nothing about where their memory went, and the peak does. One rule for all commands
 * (report, its summary, html, export, diff, live), so that they show the same.
 *
 * And what of an aggregation by function goes without saying: which allocation functions their callers are
 * charged for. Pure.
 */
#ifndef BP_PROFILE_SHOWN_H
#define BP_PROFILE_SHOWN_H

#include "profile/aggregate.h"

/* Of the peak, by estimate: as little is next to nothing whatever it rests on ... */
#define BP_NEXT_TO_NOTHING_SHARE 0.02
/* ... and so is this much if it rests on fewer samples than make an estimate. */
#define BP_NEXT_TO_NOTHING_UNSURE 0.2
#define BP_NEXT_TO_NOTHING_SAMPLES 8

/* Is next to nothing live at the end, beside what was live at the peak? Never where the peak is not known,
 * or has no sample. The aggregation may be of any metric. */
bool bp_next_to_nothing_lives(const struct bp_aggregation *aggregation);

/* Aggregates what is asked; where live at exit was asked for because nothing else was (`by_default`), and
 * next to nothing is, the peak: a warning then says so. A profile that does not tell what was freed is
 * shown by what was allocated. */
bool bp_aggregate_shown(const struct bp_profile *profile, const struct bp_query *query,
	bool by_default, struct bp_aggregation *ret_aggregation, struct bp_error *error);

/* The allocation functions below the frames that the rows of this aggregation are charged to, those with
 * most samples first: at most `capacity` of them into `ret_names`. Returns how many there are; 0 for other
 * keys, and cumulative ones. */
uint32_t bp_aggregation_charged_to_callers(
	const struct bp_aggregation *aggregation, const char **ret_names, uint32_t capacity);

#endif
