/* SPDX-License-Identifier: MIT */
/*
 * Aggregation from top to bottom: prepare (who is looked at, which filters hold), samples into
 * cells and totals (sample_sums.c), cells into rows, rows into their order. Intervals come later,
 * row by row (figures.c). See aggregate.h and aggregation_state.h.
 */
#include "aggregation/aggregate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "model/gaps/losses.h"
#include "query/filter.h"

bool bp_grow(void **data, uint32_t count, uint32_t *capacity, size_t entry_bytes)
{
	if (count < *capacity)
		return true;
	if (*capacity > UINT32_MAX / 2)
		return false;
	uint32_t wanted = *capacity * 2 + 64;
	void *grown = realloc(*data, wanted * entry_bytes);
	if (grown == NULL)
		return false;
	*data = grown;
	*capacity = wanted;
	return true;
}

static bool check(
	const struct bp_profile *profile, const struct bp_query *query, struct bp_error *error)
{
	if (query->metric == BP_METRIC_PEAK && profile->merged_unrelated)
		return bp_error_set(error,
			"files that are given together have no common peak: give "
			"them one at a time");
	if (bp_query_filters_frees(query) && profile->mapped)
		return bp_error_set(error,
			"--filter " BP_FREED_BY
			": it is not recorded who unmaps what the program mapped itself");
	if (bp_query_filters_frees(query) && !bp_profile_has_free_stacks(profile))
		return bp_error_set(error,
			"--filter " BP_FREED_BY ": the recording does not tell where objects were "
			"freed: bytepoll run --free-stacks records that");
	return bp_query_check(query, error);
}

/* The negative binomial interval is of one p. */
static bool check_intervals(const struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_query *query = &aggregation->query;
	if (!bp_method_is_of_hits(query->method) || !aggregation->state->several_intervals)
		return true;
	return bp_error_set(error,
		"--interval-method %s needs one sampling interval, and these samples have several: "
		"use n3",
		bp_method_names[query->method]);
}

static void count_losses(struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_aggregation_state *state = aggregation->state;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (!state->view.processes[i].included)
			continue;
		for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
			aggregation->lost[reason] += process->lost[reason];
		if (process->damaged_chunks > 0)
			state->lost_samples = state->lost_frees = true;
		state->lost_samples = state->lost_samples || process->cut_off;
		aggregation->lost_more =
			aggregation->lost_more || process->damaged_chunks > 0 || process->cut_off;
	}
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++) {
		struct bp_loss_kind kind = bp_loss_kind(reason);
		if (aggregation->lost[reason] == 0)
			continue;
		state->lost_samples = state->lost_samples || kind.samples;
		state->lost_frees = state->lost_frees || kind.frees;
		state->lost_totals = state->lost_totals || kind.totals;
		if (kind.samples || kind.frees || kind.totals)
			aggregation->lost_samples += aggregation->lost[reason];
	}
}

/* Sorting needs its context, which qsort_r passes along. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct bp_aggregation_state *state = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct bp_row_sums *row_a = &state->rows[a], *row_b = &state->rows[b];
	const int order = bp_figures_compare_order(row_a->order, row_b->order);
	if (order != 0)
		return order;
	int names = strcmp(state->names + row_a->name, state->names + row_b->name);
	if (names != 0)
		return names;
	return a < b ? -1 : a > b;
}

static bool order_rows(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	size_t rows = (size_t)state->row_count + 1;
	state->order = malloc(rows * sizeof *state->order);
	state->before = calloc(rows, sizeof *state->before);
	state->after = calloc(rows, sizeof *state->after);
	if (state->order == NULL || state->before == NULL || state->after == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < state->row_count; i++) {
		state->before[i + 1] = state->before[i];
		bp_sums_merge(&state->before[i + 1], &state->rows[i].tally.sums);
	}
	for (uint32_t i = state->row_count; i-- > 0;) {
		state->after[i] = state->after[i + 1];
		bp_sums_merge(&state->after[i], &state->rows[i].tally.sums);
	}
	for (uint32_t i = 0; i < state->row_count; i++) {
		struct bp_row_sums *row = &state->rows[i];
		row->order = bp_figures_order(aggregation, row);
		if (row->tally.sums.samples > 0 || state->counted_rows)
			state->order[aggregation->row_count++] = i;
	}
	qsort_r(state->order, aggregation->row_count, sizeof *state->order, compare_rows, state);
	for (uint32_t i = 0; i < state->row_count; i++)
		state->rows[i].place = UINT32_MAX;
	for (uint32_t i = 0; i < aggregation->row_count; i++)
		state->rows[state->order[i]].place = i;
	return true;
}

/* A snapshot has no times and no offsets, and some have no frees. */
static bool check_absent(const struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_query *query = &aggregation->query;
	if (bp_without_what_lives(query) && query->metric == BP_METRIC_LIVE)
		return bp_error_set(error,
			"--filter " BP_FREED_BY
			" with --metric live: what lives at the end was not "
			"freed: choose --metric allocated or peak, or live --at TIME");
	if (aggregation->state->absent & 1u << query->metric &&
		!(aggregation->state->lacks & BP_LACKS_TIMES))
		return bp_error_set(error,
			"--metric %s: objects were not counted, so that it is not known: choose "
			"--metric live, peak or allocated",
			bp_metric_names[query->metric]);
	if (aggregation->state->absent & 1u << query->metric)
		return bp_error_set(error,
			"--metric %s: this file is a snapshot, which does not tell it: choose %s",
			bp_metric_names[query->metric],
			aggregation->state->absent & 1u << BP_METRIC_ALLOCATED
				? "--metric live"
				: "--metric live or --metric allocated");
	if (!(aggregation->state->lacks & BP_LACKS_TIMES))
		return true;
	if (query->has_from || query->has_to || query->has_at)
		return bp_error_set(error,
			"--from, --until, --at: this file is a snapshot, which does not tell when "
			"anything was allocated");
	if (bp_estimator_is_other(query->estimator) || bp_method_is_of_hits(query->method))
		return bp_error_set(error,
			"--estimator, --interval-method: this one needs the offset at which an "
			"object was hit, and this file is a snapshot without offsets");
	return true;
}

bool bp_aggregate(const struct bp_profile *profile, const struct bp_query *query,
	struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	struct bp_aggregation aggregation = {
		.profile = profile, .query = *query, .peak_at_ns = BP_TIME_NEVER
	};
	if (aggregation.query.confidence == 0)
		aggregation.query.confidence = BP_CONFIDENCE_DEFAULT;
	if (!check(profile, query, error))
		return false;
	struct bp_aggregation_state *state = calloc(1, sizeof *state);
	if (state == NULL)
		return bp_error_set(error, "out of memory");
	aggregation.state = state;
	if (!bp_view_init(&state->view, profile, query, error) ||
		!bp_attribution_init(&state->attribution, profile, error) ||
		!bp_selection_init(
			&state->selection, &state->attribution, &state->view, query, error))
		goto fail;
	if (!bp_sampling_init(&aggregation.sampling, &state->view, error))
		goto fail;
	aggregation.subject.i = state->view.subject;
	aggregation.duration_ns = state->view.duration_ns;
	aggregation.at_ns = state->view.at_ns;
	count_losses(&aggregation);
	if (!bp_figures_prepare(&aggregation, error))
		goto fail;
	aggregation.lacks = state->lacks;
	if ((state->lacks & BP_LACKS_FREES) && query->metric != BP_METRIC_ALLOCATED) {
		bp_error_set(error,
			"--metric %s: this file does not tell what was freed, so that only "
			"--metric allocated can be shown",
			bp_metric_names[query->metric]);
		goto fail;
	}
	aggregation.absent = state->absent;
	if (!check_absent(&aggregation, error))
		goto fail;
	if (!bp_sum_samples(&aggregation, error) || !check_intervals(&aggregation, error))
		goto fail;
	bp_figures_share(&aggregation);
	if (!bp_make_rows(&aggregation, error) || !order_rows(&aggregation, error))
		goto fail;
	bp_figures_totals(&aggregation);
	if (!bp_make_warnings(&aggregation, error))
		goto fail;
	*ret_aggregation = aggregation;
	return true;
fail:
	bp_aggregation_finish(&aggregation);
	return false;
}

const struct bp_sums *bp_aggregation_total_sums(
	const struct bp_aggregation *aggregation, enum bp_metric metric)
{
	return &aggregation->state->totals[metric].sums;
}

struct bp_assumptions bp_aggregation_assumptions(const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	return (struct bp_assumptions){ .interval_min = state->interval_min,
		.interval_max = state->interval_max,
		.interval_unseen = state->interval_unseen,
		.size_min = state->size_min,
		.size_min_beside = state->size_min_beside,
		.charge = state->charge,
		.ratio_max = aggregation->query.usable ? state->ratio_max : 1,
		.turnovers = state->turnovers };
}

/* Of a small object k (1 + g) is T; of one as large as T, 1.6 T. */
uint64_t bp_mean_interval(const struct bp_sums *sums, const struct bp_assumptions *assumed)
{
	if (assumed->interval_min >= assumed->interval_max || !(sums->c1 > 0))
		return assumed->interval_max;
	const double mean = sums->c2 / sums->c1;
	return (uint64_t)fmin(
		fmax(mean, (double)assumed->interval_min), (double)assumed->interval_max);
}

void bp_aggregation_finish(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	if (state != NULL) {
		bp_view_finish(&state->view);
		bp_attribution_finish(&state->attribution);
		bp_selection_finish(&state->selection);
		bp_id_index_finish(&state->size_cells);
		for (uint32_t i = 0; i < state->cell_count; i++)
			bp_tally_finish(&state->cells[i].tally);
		for (uint32_t i = 0; i < state->row_count; i++)
			bp_tally_finish(&state->rows[i].tally);
		for (int m = 0; m < BP_METRIC_COUNT; m++)
			bp_tally_finish(&state->totals[m]);
		bp_tally_finish(&state->reach);
		free(state->cells);
		free(state->cell_of);
		free(state->rows);
		free(state->row_counters);
		free(state->cell_rows);
		free(state->order);
		free(state->names);
		free(state->before);
		free(state->after);
		free(state->at_peak);
		free(state);
	}
	for (char **w = aggregation->warnings; w != NULL && *w != NULL; w++)
		free(*w);
	free(aggregation->warnings);
	bp_sampling_finish(&aggregation->sampling);
	memset(aggregation, 0, sizeof *aggregation);
}
