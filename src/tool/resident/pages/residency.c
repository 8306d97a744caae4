/* SPDX-License-Identifier: MIT */
/*
 * Two sums stand for each row: of the bytes that are certainly not resident, and of those that may
 * not be. They are equal where all of a row's samples have a place; then there is an estimate. Rows
 * are those of metric live at the moment of the look, the largest.
 */
#include "resident/pages/residency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "trace/format.h"

#define SLOT_BYTES_END 65536u

/* What is summed of a set of samples. */
struct sums {
	struct bp_tally least, most;
	uint64_t unplaced;
};

struct work {
	struct bp_aggregation aggregation;
	const struct bp_pages *pages;
	const struct bp_sample_places *places;
	struct sums total, rows[BP_RESIDENCY_ROWS];
};

void bp_residency_finish(struct bp_residency *residency)
{
	for (uint32_t i = 0; i < residency->row_count; i++)
		free(residency->rows[i].name);
	memset(residency, 0, sizeof *residency);
}

/* The bytes of a sample that are not resident. False: its place is not known, or is a slot. */
static bool absent_of(const struct work *work, const struct bp_process *process,
	const struct bp_sample *sample, uint64_t *ret_absent)
{
	if (process->samples_in_slots && sample->size < SLOT_BYTES_END &&
		sample->kind != BP_KIND_PYTHON)
		return false;
	const struct bp_sample_place *place = bp_sample_places_find(work->places, sample);
	return place != NULL &&
	       bp_pages_absent(work->pages, place->address, sample->size, ret_absent);
}

/* Adds a value of a sample, where there is one. */
static bool add_value(struct bp_aggregation_state *state, const struct bp_process *process,
	const struct bp_sample *sample, uint64_t value, struct bp_tally *tally)
{
	struct bp_sample as_value = *sample;
	struct bp_sample_weight all;
	if (value == 0)
		return true;
	as_value.usable = value;
	return bp_tally_add_sample(tally,
		bp_sample_weight_of_all(
			bp_sample_weight(&state->weights, &as_value, process->charge, true),
			&as_value, &all),
		NULL);
}

static bool add_to(struct work *work, const struct bp_process *process,
	const struct bp_sample *sample, bool placed, uint64_t absent, struct sums *sums)
{
	struct bp_aggregation_state *state = work->aggregation.state;
	sums->unplaced += !placed;
	return add_value(state, process, sample, placed ? absent : 0, &sums->least) &&
	       add_value(state, process, sample, placed ? absent : sample->size, &sums->most);
}

static bool add_sample(
	struct work *work, const struct bp_process *process, const struct bp_sample *sample)
{
	const struct bp_aggregation_state *state = work->aggregation.state;
	uint64_t absent = 0;
	const bool placed = absent_of(work, process, sample, &absent);
	const uint32_t cell = bp_cell_of_sample(&work->aggregation, sample);
	if (cell == UINT32_MAX || !add_to(work, process, sample, placed, absent, &work->total))
		return false;
	const struct bp_cell *found = &state->cells[cell];
	for (uint32_t i = 0; i < found->row_count; i++) {
		const uint32_t place = state->rows[state->cell_rows[found->first_row + i]].place;
		if (place < BP_RESIDENCY_ROWS &&
			!add_to(work, process, sample, placed, absent, &work->rows[place]))
			return false;
	}
	return true;
}

static bool add_all(struct work *work, uint64_t time_ns, uint32_t pid)
{
	const struct bp_profile *profile = work->aggregation.profile;
	const struct bp_moment moment = { time_ns, UINT64_MAX, UINT32_MAX };
	struct bp_living living = bp_samples_living(&profile->samples, time_ns, time_ns);
	uint32_t entry;
	while (bp_living_next(&living, &entry)) {
		const struct bp_sample sample = bp_samples_of_entry(&profile->samples, entry);
		const struct bp_process *process = &profile->processes.data[sample.process.i];
		if (sample.time_ns > time_ns)
			break; /* They come in the order of their births. */
		if (process->pid == pid &&
			bp_view_is_live(&work->aggregation.state->view, &sample, &moment) &&
			!add_sample(work, process, &sample))
			return false;
	}
	return true;
}

/* No more can be absent than lives. */
static struct bp_interval interval_of(
	const struct work *work, const struct sums *sums, const struct bp_interval *live)
{
	struct bp_row least = { 0 }, most = { 0 };
	bp_figures_of_tally(&work->aggregation, &sums->least, NULL, &least);
	bp_figures_of_tally(&work->aggregation, &sums->most, NULL, &most);
	struct bp_interval interval = most.bytes.interval;
	interval.low = least.bytes.interval.low;
	interval.unknown = interval.unknown || sums->unplaced > 0;
	interval.exact = interval.exact && !interval.unknown;
	interval.high = fmin(interval.high, live->high);
	if (interval.unknown)
		interval.estimate = NAN;
	else
		interval.high = fmax(interval.high, interval.estimate);
	return interval;
}

static bool make_rows(const struct work *work, struct bp_residency *residency)
{
	const struct bp_aggregation *aggregation = &work->aggregation;
	residency->live = aggregation->totals[BP_METRIC_LIVE].bytes.interval;
	residency->absent = interval_of(work, &work->total, &residency->live);
	residency->unplaced = work->total.unplaced;
	for (uint32_t i = 0; i < aggregation->row_count && i < BP_RESIDENCY_ROWS; i++) {
		struct bp_residency_row *row = &residency->rows[i];
		struct bp_row live;
		bp_aggregation_row(aggregation, i, &live);
		row->name = bp_row_label(
			aggregation->profile, live.name, live.frames, live.frame_count);
		if (row->name == NULL)
			return false;
		residency->row_count++;
		row->live = live.bytes.interval;
		row->absent = interval_of(work, &work->rows[i], &row->live);
	}
	return true;
}

static void finish_work(struct work *work)
{
	bp_tally_finish(&work->total.least);
	bp_tally_finish(&work->total.most);
	for (uint32_t i = 0; i < BP_RESIDENCY_ROWS; i++) {
		bp_tally_finish(&work->rows[i].least);
		bp_tally_finish(&work->rows[i].most);
	}
	bp_aggregation_finish(&work->aggregation);
}

bool bp_residency_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_pages *pages, struct bp_sample_places *places,
	struct bp_residency *ret_residency, struct bp_error *error)
{
	struct bp_residency residency = { .at_ns = bp_pages_at_ns(pages, profile) };
	struct bp_query asked = *query;
	struct work work = { .pages = pages, .places = places };
	asked.metric = BP_METRIC_LIVE;
	asked.has_at = true;
	asked.at_ns = residency.at_ns;
	asked.pid = pages->pid;
	asked.without_peak = true;
	if (!bp_aggregate(profile, &asked, &work.aggregation, error))
		return false;
	bp_sample_places_sort(places);
	const bool good =
		add_all(&work, pages->time_ns, pages->pid) && make_rows(&work, &residency);
	finish_work(&work);
	if (good)
		*ret_residency = residency;
	else
		bp_residency_finish(&residency);
	return good || bp_error_set(error, "out of memory");
}
