/* SPDX-License-Identifier: MIT */
/*
 * Four sums stand for each row: of shares, of requested sizes, of pages that a sample has alone,
 * and of pages that it touches. Only samples on pages of the heap are in them.
 *
 * Limits: N3. What may be there unseen is bounded by the chunks that the walk saw (`units`), since
 * a small object may keep a thousand times its size. No row keeps more than all live chunks do.
 */
#include "resident/pages/keepers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "estimate/size_classes.h"

#define CHUNK_HEADER_BYTES 16u /* in front of an object */
#define CHUNK_SIZE_BYTES 8u    /* of these what usable bytes do not hold */

enum { KEPT, OWN, ALONE, TOUCHED, SUMS };

struct sums {
	struct bp_tally of[SUMS];
	uint64_t seen_alone, samples;
};

struct work {
	struct bp_keepers *keepers;
	const struct bp_sample_places *places;
	struct sums all, *rows; /* by the place of a row */
	uint32_t *keeper_of;	/* by the same, once they are sorted */
	double units[SUMS];	/* the largest value per trial of what is not seen */
};

void bp_keepers_finish(struct bp_keepers *keepers)
{
	free(keepers->keepers);
	free(keepers->samples);
	bp_aggregation_finish(&keepers->aggregation);
	memset(keepers, 0, sizeof *keepers);
}

/* What an estimate may assume of objects that were not sampled, bytes a trial. */
static void find_units(struct work *work)
{
	const struct bp_aggregation_state *state = work->keepers->aggregation.state;
	const struct bp_heap_pages *heap = work->keepers->pages;
	const uint64_t interval = state->interval_unseen;
	const double lambda = bp_lambda(interval), error = state->alpha / 2;
	work->units[OWN] = 1;
	if (interval == 1)
		return; /* nothing is unseen */
	work->units[KEPT] = lambda * bp_ratio_classes_unit(&heap->kept, lambda, error);
	work->units[TOUCHED] = lambda * bp_ratio_classes_unit(&heap->touched, lambda, error);
	work->units[ALONE] = work->units[KEPT]; /* no chunk has more alone than it keeps */
}

/* Adds a value of a sample. */
static bool add_value(struct work *work, const struct bp_process *process,
	const struct bp_sample *sample, double value, struct bp_tally *tally)
{
	struct bp_aggregation_state *state = work->keepers->aggregation.state;
	struct bp_sample_weight weight =
		*bp_sample_weight(&state->weights, sample, process->charge, false);
	if (!(value > 0))
		return true;
	weight.sums = (struct bp_sums){ 0 };
	bp_sums_add(&weight.sums, value, sample->size, process->charge, sample->interval,
		sample->exact);
	/* What bounds the unseen is known of all chunks, not of the samples. */
	weight.sums.interval_max = 0;
	weight.sums.ratio_max = 0;
	return bp_tally_add_sample(tally, &weight, NULL);
}

static bool add_to(struct work *work, const struct bp_process *process,
	const struct bp_sample *sample, const struct bp_chunk_pages *its, struct sums *sums)
{
	sums->samples++;
	sums->seen_alone += its->sole;
	return add_value(work, process, sample, its->kept, &sums->of[KEPT]) &&
	       add_value(work, process, sample, (double)sample->size, &sums->of[OWN]) &&
	       add_value(work, process, sample, (double)its->sole, &sums->of[ALONE]) &&
	       add_value(work, process, sample, (double)its->touched, &sums->of[TOUCHED]);
}

static bool keep_sample(struct bp_keepers *keepers, const struct bp_kept_sample *sample)
{
	if (keepers->sample_count == keepers->sample_capacity) {
		const uint32_t capacity =
			keepers->sample_capacity == 0 ? 256 : keepers->sample_capacity * 2;
		struct bp_kept_sample *samples =
			realloc(keepers->samples, capacity * sizeof *samples);
		if (samples == NULL)
			return false;
		keepers->samples = samples;
		keepers->sample_capacity = capacity;
	}
	keepers->samples[keepers->sample_count++] = *sample;
	return true;
}

/* Where the chunk of a sample is. False: nowhere on the heap. */
static bool chunk_of(const struct work *work, const struct bp_sample *sample,
	struct bp_kept_sample *ret_chunk, struct bp_chunk_pages *ret_pages)
{
	const struct bp_sample_place *place = bp_sample_places_find(work->places, sample);
	const uint64_t usable = sample->usable > sample->size ? sample->usable : sample->size;
	if (place == NULL || place->address < CHUNK_HEADER_BYTES || usable > UINT64_MAX / 2)
		return false;
	const uint64_t at = place->address - CHUNK_HEADER_BYTES;
	*ret_chunk = (struct bp_kept_sample){ at, usable + CHUNK_SIZE_BYTES, UINT32_MAX, 0 };
	return bp_heap_pages_of_chunk(work->keepers->pages, at, ret_chunk->bytes, ret_pages);
}

static bool add_sample(
	struct work *work, const struct bp_process *process, const struct bp_sample *sample)
{
	struct bp_keepers *keepers = work->keepers;
	struct bp_aggregation_state *state = keepers->aggregation.state;
	struct bp_kept_sample chunk;
	struct bp_chunk_pages its;
	if (!chunk_of(work, sample, &chunk, &its)) {
		keepers->elsewhere += bp_sample_count(sample);
		return true;
	}
	const uint32_t number = bp_cell_of_sample(&keepers->aggregation, sample);
	if (number == UINT32_MAX || !add_to(work, process, sample, &its, &work->all))
		return false;
	const struct bp_cell *cell = &state->cells[number];
	for (uint32_t i = 0; i < cell->row_count; i++) {
		const uint32_t place = state->rows[state->cell_rows[cell->first_row + i]].place;
		if (place >= keepers->aggregation.row_count)
			continue;
		chunk.keeper = chunk.keeper == UINT32_MAX ? place : chunk.keeper;
		if (!add_to(work, process, sample, &its, &work->rows[place]))
			return false;
	}
	chunk.kept =
		its.kept * bp_sample_weight(&state->weights, sample, process->charge, false)->whole;
	return keep_sample(keepers, &chunk);
}

static bool add_all(struct work *work, uint64_t time_ns, uint32_t pid)
{
	const struct bp_aggregation *aggregation = &work->keepers->aggregation;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_moment moment = { time_ns, UINT64_MAX, UINT32_MAX };
	struct bp_living living = bp_samples_living(&profile->samples, time_ns, time_ns);
	uint32_t entry;
	while (bp_living_next(&living, &entry)) {
		const struct bp_sample sample = bp_samples_of_entry(&profile->samples, entry);
		const struct bp_process *process = &profile->processes.data[sample.process.i];
		if (sample.time_ns > time_ns)
			break; /* They come in the order of their births. */
		if (process->pid == pid &&
			bp_view_is_live(&aggregation->state->view, &sample, &moment) &&
			!add_sample(work, process, &sample))
			return false;
	}
	return true;
}

/* At error `alpha`. No row has more pages than all live chunks. */
static struct bp_interval interval_of(
	const struct work *work, const struct sums *sums, int which, double alpha)
{
	const struct bp_aggregation_state *state = work->keepers->aggregation.state;
	const struct bp_tally *tally = &sums->of[which];
	const struct bp_heap_page_sums *heap = &work->keepers->heap;
	const double most = which == KEPT    ? (double)heap->held
			    : which == ALONE ? (double)heap->sole
					     : INFINITY;
	struct bp_interval interval =
		tally->classes != NULL ? bp_estimate_values_by_classes(tally->classes,
						 state->interval_unseen, work->units[which], alpha)
				       : bp_estimate_values(&tally->sums, state->interval_unseen,
						 work->units[which], alpha);
	/* (An object made right after the look may have a page alone that was not counted so.) */
	const double cap =
		which == ALONE ? fmax(most, fmin(interval.low, (double)heap->held)) : most;
	interval.low = fmin(interval.low, cap);
	interval.estimate = fmin(interval.estimate, cap);
	interval.high = fmin(interval.high, cap);
	return interval;
}

/* Two upper limits hold, each at half the error: all that objects of the row touch; and all that is
 * held, less the pages that one object has alone, which were counted, but for those of the row. */
static double free_most_of(const struct work *work, const struct sums *sums)
{
	const struct bp_heap_page_sums *heap = &work->keepers->heap;
	const double alpha = work->keepers->aggregation.state->alpha / 2;
	const double touched = interval_of(work, sums, TOUCHED, alpha).high;
	const double alone = interval_of(work, sums, ALONE, alpha).high;
	const double others = fmax((double)heap->sole - alone, 0);
	return fmin(touched, (double)heap->held - others);
}

static struct bp_keeper_figures figures_of(const struct work *work, const struct sums *sums)
{
	const double alpha = work->keepers->aggregation.state->alpha;
	struct bp_keeper_figures figures = { .kept = interval_of(work, sums, KEPT, alpha),
		.own = interval_of(work, sums, OWN, alpha),
		.alone = interval_of(work, sums, ALONE, alpha),
		.touched = interval_of(work, sums, TOUCHED, alpha),
		.seen_alone = sums->seen_alone,
		.samples = sums->samples };
	figures.free_least = figures.alone.low;
	figures.free_most = fmax(free_most_of(work, sums), figures.free_least);
	return figures;
}

static int compare(const void *a, const void *b)
{
	const struct bp_keeper *left = a, *right = b;
	const double more = right->figures.kept.estimate - left->figures.kept.estimate;
	return more != 0 ? (more > 0) - (more < 0)
			 : (left->row > right->row) - (left->row < right->row);
}

/* The rows with a sample, in their order, and the samples by it. */
static bool make_rows(struct work *work)
{
	struct bp_keepers *keepers = work->keepers;
	const uint32_t rows = keepers->aggregation.row_count;
	keepers->keepers = calloc(rows + 1u, sizeof *keepers->keepers);
	work->keeper_of = calloc(rows + 1u, sizeof *work->keeper_of);
	if (keepers->keepers == NULL || work->keeper_of == NULL)
		return false;
	for (uint32_t i = 0; i < rows; i++)
		if (work->rows[i].samples > 0)
			keepers->keepers[keepers->count++] =
				(struct bp_keeper){ i, figures_of(work, &work->rows[i]) };
	qsort(keepers->keepers, keepers->count, sizeof *keepers->keepers, compare);
	for (uint32_t i = 0; i < keepers->count; i++)
		work->keeper_of[keepers->keepers[i].row] = i;
	for (uint32_t i = 0; i < keepers->sample_count; i++)
		if (keepers->samples[i].keeper != UINT32_MAX)
			keepers->samples[i].keeper = work->keeper_of[keepers->samples[i].keeper];
	keepers->all = figures_of(work, &work->all);
	return true;
}

static void finish_sums(struct sums *sums)
{
	for (int i = 0; i < SUMS; i++)
		bp_tally_finish(&sums->of[i]);
}

static void finish_work(struct work *work)
{
	finish_sums(&work->all);
	for (uint32_t i = 0; work->rows != NULL && i < work->keepers->aggregation.row_count; i++)
		finish_sums(&work->rows[i]);
	free(work->rows);
	free(work->keeper_of);
}

/* Were small samples left where they would have been? */
static bool is_in_place(const struct bp_profile *profile, uint32_t pid)
{
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid == pid &&
			profile->processes.data[i].samples_in_slots)
			return false;
	return true;
}

bool bp_keepers_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_pages *pages, struct bp_sample_places *places,
	struct bp_keepers *ret_keepers, struct bp_error *error)
{
	struct bp_keepers keepers = {
		.pid = pages->pid, .pages = &pages->heap, .at_ns = bp_pages_at_ns(pages, profile)
	};
	struct bp_query asked = *query;
	struct work work = { .keepers = &keepers, .places = places };
	if (!is_in_place(profile, pages->pid))
		return bp_error_set(error,
			"samples below 64 KiB lie in the recorder's memory, not on the pages of "
			"the heap: record with bytepoll run --in-place");
	keepers.heap = bp_heap_pages_sum(&pages->heap);
	asked.metric = BP_METRIC_LIVE;
	asked.has_at = true;
	asked.at_ns = keepers.at_ns;
	asked.pid = pages->pid;
	asked.without_peak = true;
	if (!bp_aggregate(profile, &asked, &keepers.aggregation, error))
		return false;
	bp_sample_places_sort(places);
	find_units(&work);
	work.rows = calloc(keepers.aggregation.row_count + 1u, sizeof *work.rows);
	const bool good =
		work.rows != NULL && add_all(&work, pages->time_ns, pages->pid) && make_rows(&work);
	finish_work(&work);
	if (good)
		*ret_keepers = keepers;
	else
		bp_keepers_finish(&keepers);
	return good || bp_error_set(error, "out of memory");
}
