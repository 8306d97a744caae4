/* SPDX-License-Identifier: MIT */
/*
 * From cells of the table to comparisons. A cell is a side of the comparison of estimate/diff.h:
 * a counted number where the recorder counted, else a gamma law from its sums. Everything is
 * Horvitz-Thompson here, also where a report would calibrate by the exact total: base + change =
 * new then holds, and of a calibrated part no comparison is known.
 *
 * Several runs: their mean is compared, and each side's mean has an interval that covers the
 * program's own variation.
 */
#include <math.h>

#include "diff/diff_state.h"

/* The total, with what was allocated while sampling was off where that can be known. */
static struct bp_figure whole_figure(const struct bp_aggregation *aggregation, bool objects)
{
	const enum bp_metric metric = aggregation->query.metric;
	const struct bp_total *total = &aggregation->totals[metric];
	struct bp_figure figure = objects ? total->objects : total->bytes;
	if (total->known)
		bp_aggregation_add_off(aggregation, metric, objects, &figure.interval);
	return figure;
}

/* The counted number in a cell, where there is one. */
static bool is_counted(const struct bp_aggregation *aggregation, const struct bp_key_cell *cell,
	bool whole, bool objects, double *ret_count)
{
	if (whole) {
		const struct bp_figure figure = whole_figure(aggregation, objects);
		*ret_count = figure.interval.estimate;
		return figure.interval.exact && aggregation->query.metric == BP_METRIC_ALLOCATED;
	}
	*ret_count = objects ? cell->counted_objects : cell->counted_bytes;
	return aggregation->state->counted_rows && !cell->uncounted;
}

static struct bp_side side_of(const struct bp_run *run, const struct bp_aggregation *aggregation,
	const struct bp_key_cell *cell, const struct bp_cells_of_row *row, bool objects)
{
	struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const struct bp_sums *sums = &cell->tally.sums;
	struct bp_side side;
	double count;
	if (is_counted(aggregation, cell, row->whole, objects, &count))
		side = bp_side_of_count(count);
	else if (objects)
		side = bp_side_of_objects(sums, assumed.interval_unseen,
			row->size > assumed.size_min ? row->size : assumed.size_min,
			assumed.charge);
	else
		side = bp_side_of_values(sums, assumed.interval_unseen, assumed.ratio_max);
	side.samples = sums->samples;
	return bp_side_scale(side, run->scale);
}

/* Fills `ret_sides` with one side per run, base first: of what is compared, or shown. */
static void sides_shown(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	bool shown, struct bp_side *ret_sides)
{
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_run *run = &diff->runs[side][i];
			uint32_t column = bp_diff_column(diff, side, i, shown);
			*ret_sides++ = side_of(run, shown ? run->shown : run->compared,
				&row->cells[column], row, objects);
		}
}

static void sides_of_runs(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, struct bp_side *ret_sides)
{
	sides_shown(diff, row, objects, false, ret_sides);
}

/* The change of two sides whose runs are there. */
static struct bp_change change_of(const struct bp_diff *diff, const struct bp_side *sides)
{
	const uint32_t *counts = diff->run_count;
	return diff->query.pairs ? bp_diff_pairs(sides, sides + counts[BP_BASE], counts[BP_BASE],
					   diff->state->alpha)
				 : bp_diff_runs(sides, counts[BP_BASE], sides + counts[BP_BASE],
					   counts[BP_NEW], diff->state->alpha);
}

double bp_diff_estimate(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	int side, bool shown)
{
	double sum = 0;
	for (uint32_t i = 0; i < diff->run_count[side]; i++) {
		const struct bp_run *run = &diff->runs[side][i];
		const struct bp_key_cell *cell = &row->cells[bp_diff_column(diff, side, i, shown)];
		sum += side_of(run, shown ? run->shown : run->compared, cell, row, objects)
			       .estimate;
	}
	return sum / diff->run_count[side];
}

bool bp_diff_is_worth_a_test(
	const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects)
{
	struct bp_side *sides = diff->state->sides;
	uint32_t count = diff->run_count[BP_BASE] + diff->run_count[BP_NEW];
	uint64_t samples = 0;
	double worth = 0;
	bool counted = true;
	sides_of_runs(diff, row, objects, sides);
	for (uint32_t i = 0; i < count; i++) {
		samples += sides[i].samples;
		worth += sides[i].unit > 0 ? sides[i].estimate / sides[i].unit : 0;
		counted = counted && sides[i].variance == 0 && sides[i].unit == 0;
	}
	return counted || samples >= BP_DIFF_SAMPLES_LEAST || worth >= BP_DIFF_SAMPLES_LEAST;
}

struct bp_figure bp_diff_side_figure(const struct bp_run *run, const struct bp_key_cell *cell,
	const struct bp_cells_of_row *row, bool objects)
{
	const struct bp_aggregation *aggregation = run->shown;
	struct bp_row own = { 0 };
	double count;
	if (row->whole) {
		own.bytes = whole_figure(aggregation, false);
		own.objects = whole_figure(aggregation, true);
	} else if (is_counted(aggregation, cell, false, objects, &count)) {
		own.bytes.interval = own.objects.interval =
			(struct bp_interval){ count, count, count, true, false };
	} else {
		bp_figures_of_tally(aggregation, &cell->tally, NULL, &own);
		if (row->size > 0 && aggregation->query.metric != BP_METRIC_PEAK)
			own.objects.interval = bp_figures_objects(aggregation->state, &cell->tally,
				aggregation->state->alpha, row->size);
	}
	struct bp_figure figure = objects ? own.objects : own.bytes;
	figure.interval.estimate *= run->scale;
	figure.interval.low *= run->scale;
	figure.interval.high *= run->scale;
	return figure;
}

/* The mean of several runs as a figure. */
static struct bp_interval mean_figure(
	const struct bp_diff *diff, const struct bp_side *sides, uint32_t count)
{
	struct bp_interval mean = bp_mean_of_runs(sides, count, diff->state->alpha);
	mean.exact = mean.low == mean.high;
	return mean;
}

static void fill_mean(const struct bp_diff *diff, const struct bp_side *sides, int side,
	struct bp_figure *ret_mean, double *ret_deviation)
{
	const struct bp_diff_state *state = diff->state;
	*ret_mean = (struct bp_figure){ .interval = mean_figure(diff, sides, diff->run_count[side]),
		.lower_bound = state->too_low[side],
		.upper_bound = state->too_high[side] };
	*ret_deviation = bp_between_runs_deviation(sides, diff->run_count[side]);
}

void bp_diff_mean(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	int side, struct bp_figure *ret_mean, double *ret_deviation)
{
	struct bp_side *sides = diff->state->sides;
	sides_of_runs(diff, row, objects, sides);
	fill_mean(diff, side == BP_BASE ? sides : sides + diff->run_count[BP_BASE], side, ret_mean,
		ret_deviation);
}

static bool all_known(const struct bp_side *sides, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (sides[i].variance > 0 || sides[i].unit > 0)
			return false;
	return true;
}

/* What losses leave of the change: at least its lower limit, at most its upper one, or nothing. */
static void mark_losses(const struct bp_diff *diff, struct bp_figure *change)
{
	const struct bp_diff_state *state = diff->state;
	change->lower_bound = state->too_low[BP_NEW] || state->too_high[BP_BASE];
	change->upper_bound = state->too_high[BP_NEW] || state->too_low[BP_BASE];
	if (change->lower_bound || change->upper_bound)
		change->interval.exact = false;
}

/* Between two moments the columns share what lives at both: their ratio has no limits here. */
static void fill_moments(
	const struct bp_diff *diff, const struct bp_side *sides, struct bp_diff_figure *comparison)
{
	double base = comparison->side[BP_BASE].interval.estimate;
	double new = comparison->side[BP_NEW].interval.estimate;
	comparison->ratio = (struct bp_interval){
		.estimate = new / base, .low = NAN, .high = NAN, .unknown = !(base > 0)
	};
	if (!diff->query.pairs)
		comparison->change.interval.estimate =
			sides[BP_NEW].estimate - sides[BP_BASE].estimate;
	const double a = diff->query.rate / fmax(1, diff->row_count);
	if (diff->query.pairs)
		comparison->lower = bp_diff_pairs_lower(
			sides, sides + diff->run_count[BP_BASE], diff->run_count[BP_BASE], a);
	else if (diff->query.growth)
		comparison->lower = bp_diff_lower(&sides[BP_BASE], &sides[BP_NEW], a);
}

/* The p that is controlled: the melded one. The mid-p is right on average over outcomes, not in
 * every design, and makes twice as many false verdicts where samples are few
 * (docs/statistics.md). */
static double p_of(const struct bp_diff *diff, const struct bp_change *change)
{
	return diff->query.growth ? change->p_increase : change->p;
}

/* Is the total of each side counted, if only within limits (of a program that was killed)? */
static bool has_limits(const struct bp_diff *diff, bool objects)
{
	bool all_exact = true;
	if (diff->query.moments || diff->query.growth ||
		diff->run_count[BP_BASE] + diff->run_count[BP_NEW] > BP_SIDES)
		return false;
	for (int side = 0; side < BP_SIDES; side++) {
		const struct bp_aggregation *run = diff->runs[side][0].compared;
		const struct bp_figure figure = whole_figure(run, objects);
		all_exact = all_exact && figure.interval.exact;
		if (run->query.metric != BP_METRIC_ALLOCATED ||
			!run->totals[BP_METRIC_ALLOCATED].known || figure.lower_bound ||
			figure.upper_bound || !(figure.interval.exact || figure.interval.unknown))
			return false;
	}
	return !all_exact;
}

/* Limits of counters hold with certainty: the totals differ if they are apart, else nobody
 * knows. */
static void compare_limits(struct bp_diff_figure *comparison)
{
	const struct bp_interval *base = &comparison->side[BP_BASE].interval;
	const struct bp_interval *new = &comparison->side[BP_NEW].interval;
	struct bp_interval change = { .low = new->low - base->high, .high = new->high - base->low };
	change.estimate = (change.low + change.high) / 2;
	comparison->change.interval = change;
	comparison->ratio =
		(struct bp_interval){ .estimate = (new->low + new->high) / (base->low + base->high),
			.low = base->high > 0 ? new->low / base->high : 0,
			.high = base->low > 0 ? new->high / base->low : INFINITY,
			.unknown = !(base->low > 0) };
	comparison->p = change.low > 0 || change.high < 0 ? 0 : 1;
}

/* May the total of a run have more in it, that was allocated while sampling was off? */
static bool total_is_open(const struct bp_diff *diff, bool objects)
{
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_aggregation *run = diff->runs[side][i].compared;
			const enum bp_metric metric = run->query.metric;
			struct bp_interval counted = whole_figure(run, objects).interval;
			if (run->sampling.paused &&
				(!counted.exact ||
					!bp_aggregation_add_off(run, metric, objects, &counted)))
				return true;
		}
	return false;
}

void bp_diff_compare_row(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, struct bp_diff_figure *ret_comparison)
{
	const struct bp_diff_state *state = diff->state;
	const uint32_t *counts = diff->run_count;
	struct bp_side *sides = state->sides;
	*ret_comparison = (struct bp_diff_figure){ .deviation = { NAN, NAN } };
	sides_shown(diff, row, objects, diff->query.moments, sides);
	for (int side = 0; side < BP_SIDES; side++) {
		struct bp_side *own = side == BP_BASE ? sides : sides + counts[BP_BASE];
		struct bp_figure *figure = &ret_comparison->side[side];
		uint32_t column = bp_diff_column(diff, side, 0, true);
		*figure = bp_diff_side_figure(
			&diff->runs[side][0], &row->cells[column], row, objects);
		if (counts[side] == 1)
			continue;
		fill_mean(diff, own, side, figure, &ret_comparison->deviation[side]);
	}
	if (row->whole && has_limits(diff, objects)) {
		compare_limits(ret_comparison);
		mark_losses(diff, &ret_comparison->change);
		return;
	}
	if (state->peak) {
		bp_diff_compare_peaks(diff, row, objects, ret_comparison);
		ret_comparison->p =
			row->whole && total_is_open(diff, objects) ? 1 : ret_comparison->p;
		mark_losses(diff, &ret_comparison->change);
		return;
	}
	sides_of_runs(diff, row, objects, sides);
	struct bp_change change = change_of(diff, sides);
	ret_comparison->change.interval = change.difference;
	ret_comparison->change.interval.exact =
		counts[BP_BASE] == 1 && counts[BP_NEW] == 1 && all_known(sides, BP_SIDES);
	ret_comparison->ratio = change.ratio;
	ret_comparison->p = row->whole && total_is_open(diff, objects) ? 1 : p_of(diff, &change);
	mark_losses(diff, &ret_comparison->change);
	if (diff->query.moments)
		fill_moments(diff, sides, ret_comparison);
}

double bp_diff_p(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	bool *ret_grows)
{
	const struct bp_diff_state *state = diff->state;
	uint32_t base_count = diff->run_count[BP_BASE];
	sides_of_runs(diff, row, objects, state->sides);
	struct bp_change change =
		diff->query.pairs
			? bp_diff_pairs(state->sides, state->sides + base_count, base_count, 0.5)
			: bp_diff_runs_p(state->sides, base_count, state->sides + base_count,
				  diff->run_count[BP_NEW]);
	*ret_grows = change.p_increase < change.p_decrease;
	/* A peak's p takes long; where not even the narrower intervals of a moment that was not
	 * chosen would be apart, it leads to no verdict. */
	if (state->peak)
		return change.p > diff->query.rate
			       ? 1
			       : bp_diff_p_of_peaks(diff, row, objects, ret_grows);
	return p_of(diff, &change);
}
