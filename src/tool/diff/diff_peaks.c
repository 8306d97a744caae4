/* SPDX-License-Identifier: MIT */
/*
 * Two peaks compared. Each run named a moment by its samples, and the true one may be any that
 * competes with it (rivals.h). So a key has changed only if it has whichever pair of competing
 * moments is the true one: its limits on a side are the lowest and the highest over that side's
 * competing moments. The change lies between the extreme differences of the limits; p is twice the
 * smallest two-sided error at which the intervals of the two sides are apart: if the truths are
 * equal, one of two limits has failed, or the true moment does not compete, which happens in a
 * thousandth of the runs.
 */
#include <math.h>
#include <stdlib.h>

#include "diff/diff_state.h"

#define PEAK_STEPS 10
#define PEAK_ALPHA_LEAST 1e-15

/* Moments are said to be of different kind if a key's limits at two of them are apart by more than
 * this share of the peak. */
#define PHASES_SHARE 0.25

bool bp_diff_find_rivals(struct bp_diff *diff, struct bp_error *error)
{
	struct bp_diff_state *state = diff->state;
	for (int side = 0; side < BP_SIDES; side++) {
		const struct bp_aggregation *run = diff->runs[side][0].compared;
		const uint32_t keys = state->keys.key_count;
		if (!run->state->peak.found)
			continue;
		state->rivals[side] = calloc((size_t)keys + 1, sizeof **state->rivals);
		if (state->rivals[side] == NULL ||
			!bp_rivals_find(run, state->pairs[side], state->pair_count[side],
				state->rivals[side], keys))
			return bp_error_set(error, "out of memory");
		for (uint32_t i = 0; i < keys; i++)
			state->keys.cells[(size_t)i * state->keys.columns + (unsigned)side].rivals =
				&state->rivals[side][i];
	}
	return true;
}

/* The figures at the named moment at another level than the one asked for. */
static struct bp_interval named_at(const struct bp_run *run, const struct bp_key_cell *cell,
	const struct bp_cells_of_row *row, bool objects, double alpha)
{
	struct bp_aggregation_state *state = run->shown->state;
	const double asked = state->alpha;
	struct bp_cells_of_row part = *row;
	part.whole = false;
	state->alpha = alpha;
	const struct bp_figure figure = bp_diff_side_figure(run, cell, &part, objects);
	state->alpha = asked;
	return figure.interval;
}

/* The limits of a side at this level: of the peak itself, or of a key at whichever competing moment
 * they are lowest and highest, each as of a moment that was not chosen. */
static struct bp_interval limits_at(const struct bp_run *run, const struct bp_key_cell *cell,
	const struct bp_cells_of_row *row, bool objects, double alpha)
{
	const struct bp_aggregation *aggregation = run->shown;
	const enum bp_rivals_unit unit = objects ? BP_RIVALS_OBJECTS : BP_RIVALS_BYTES;
	struct bp_interval limits;
	if (row->whole && !objects) {
		limits = bp_figures_peak(aggregation, alpha);
	} else if (row->whole || cell->rivals == NULL) {
		return named_at(run, cell, row, objects, alpha);
	} else {
		limits =
			bp_figures_of_sums(aggregation, &cell->rivals->least[unit], objects, alpha);
		limits.high = fmax(limits.high,
			bp_figures_of_sums(aggregation, &cell->rivals->most[unit], objects, alpha)
				.high);
	}
	limits.low *= run->scale;
	limits.high *= run->scale;
	return limits;
}

/* How far the intervals of a peak are apart at this level: > 0 if they do not meet. */
static double peak_gap(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	double alpha, bool *ret_grows)
{
	const struct bp_interval base =
		limits_at(&diff->runs[BP_BASE][0], &row->cells[0], row, objects, alpha);
	const struct bp_interval new =
		limits_at(&diff->runs[BP_NEW][0], &row->cells[1], row, objects, alpha);
	*ret_grows = new.low - base.high > base.low - new.high;
	return fmax(new.low - base.high, base.low - new.high);
}

/* A level on a scale on which the gap is nearly straight: about the normal quantile. */
static double level_of(double depth)
{
	return exp(-depth * depth / 2);
}

/* Twice the level at which the intervals just meet, by the Illinois form of regula falsi. */
double bp_diff_p_of_peaks(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, bool *ret_grows)
{
	double apart = sqrt(-2 * log(0.5)), meet = sqrt(-2 * log(PEAK_ALPHA_LEAST)), middle = meet;
	double gap_apart = peak_gap(diff, row, objects, level_of(apart), ret_grows);
	bool still_grows;
	if (gap_apart <= 0)
		return 1;
	double gap_meet = peak_gap(diff, row, objects, level_of(meet), &still_grows);
	if (gap_meet > 0)
		return 2 * PEAK_ALPHA_LEAST;
	for (int i = 0; i < PEAK_STEPS; i++) {
		middle = (apart * gap_meet - meet * gap_apart) / (gap_meet - gap_apart);
		double gap = peak_gap(diff, row, objects, level_of(middle), &still_grows);
		if (gap > 0) {
			apart = middle;
			gap_apart = gap;
			gap_meet /= 2;
		} else {
			meet = middle;
			gap_meet = gap;
			gap_apart /= 2;
		}
	}
	/* The side on which they are still apart: p is not made too small. */
	return 2 * level_of(apart);
}

/* The limits of the change are those of the sides at half the error each: both sides hold at once
 * as often as is said, and 0 is left out just where p is below the error. */
void bp_diff_compare_peaks(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, struct bp_diff_figure *comparison)
{
	const struct bp_interval *shown[BP_SIDES] = { &comparison->side[BP_BASE].interval,
		&comparison->side[BP_NEW].interval };
	struct bp_interval sides[BP_SIDES];
	bool grows;
	for (int side = 0; side < BP_SIDES; side++) {
		const struct bp_run *run = &diff->runs[side][0];
		double alpha = run->shown->state->alpha / 2;
		sides[side] = limits_at(run, &row->cells[side], row, objects, alpha);
	}
	const struct bp_interval *base = &sides[BP_BASE], *new = &sides[BP_NEW];
	double base_estimate = shown[BP_BASE]->estimate, new_estimate = shown[BP_NEW]->estimate;
	comparison->change.interval =
		(struct bp_interval){ .estimate = new_estimate - base_estimate,
			.low = new->low - base->high,
			.high = new->high - base->low,
			.exact = shown[BP_BASE]->exact &&shown[BP_NEW]->exact };
	comparison->ratio = (struct bp_interval){ .estimate = new_estimate / base_estimate,
		.low = base->high > 0 ? new->low / base->high : 0,
		.high = base->low > 0 ? new->high / base->low : INFINITY,
		.unknown = base_estimate <= 0 };
	comparison->p = bp_diff_p_of_peaks(diff, row, objects, &grows);
}

/* How far the limits of a key at two competing moments are apart; <= 0: they meet. */
static double distance(const struct bp_aggregation *run, const struct bp_rivals *rivals)
{
	const double alpha = BP_RIVALS_ALPHA;
	return bp_figures_of_sums(run, &rivals->most[BP_RIVALS_BYTES], false, alpha).low -
	       bp_figures_of_sums(run, &rivals->least[BP_RIVALS_BYTES], false, alpha).high;
}

bool bp_diff_warn_of_rivals(struct bp_diff *diff)
{
	const struct bp_diff_state *state = diff->state;
	for (int side = 0; side < BP_SIDES; side++) {
		const struct bp_run *run = &diff->runs[side][0];
		const struct bp_aggregation *aggregation = run->compared;
		double most =
			PHASES_SHARE * aggregation->totals[BP_METRIC_PEAK].bytes.interval.estimate;
		const struct bp_rivals *farthest = NULL;
		for (uint32_t i = 0; state->rivals[side] != NULL && i < state->keys.key_count;
			i++) {
			const struct bp_rivals *rivals = &state->rivals[side][i];
			const double apart = rivals->most[BP_RIVALS_BYTES].bytes > most / 2
						     ? distance(aggregation, rivals)
						     : 0;
			if (apart <= most)
				continue;
			most = apart;
			farthest = rivals;
		}
		if (farthest == NULL)
			continue;
		const double named = (double)aggregation->peak_at_ns / 1e9;
		const double one = (double)farthest->least_at_ns[BP_RIVALS_BYTES] / 1e9;
		const double other = (double)farthest->most_at_ns[BP_RIVALS_BYTES] / 1e9;
		if (!bp_diff_warn(diff,
			    "two moments compete for the peak of %s, %.3g s and %.3g s, with "
			    "different rows: only what holds for both has a verdict; compare --at, "
			    "or --metric allocated",
			    run->file, named,
			    fabs(one - named) > fabs(other - named) ? one : other))
			return false;
	}
	return true;
}
